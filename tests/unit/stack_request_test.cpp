#include "host/train/watch/stack_request.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "host/loop/loop.h"

namespace rtrain {
namespace {

class StackRequestTest : public ::testing::Test {
 protected:
  void start(int num_ranks) {
    std::vector<StackRequest::Target> targets;
    for (int rank = 0; rank < num_ranks; ++rank) targets.push_back({rank, getpid()});
    request_.start(targets, "", [this](const List& stacks) { stacks_ = stacks; });
  }
  Value answer(size_t message) {
    return Map{{"id", sent_.at(message)["id"]},
               {"state", "busy"},
               {"lua", List{"train.lua:7"}},
               {"threads", List{}}};
  }

  Loop loop_;
  ProgressBoard board_{2};
  std::vector<Value> sent_;
  std::optional<List> stacks_;
  StackRequest request_{loop_, board_, [this](int, const Value& m) { sent_.push_back(m); }};
};

TEST_F(StackRequestTest, EndsWhenEveryWorkerHasAnsweredOrEnded) {
  start(2);
  request_.on_answer(1, answer(1));
  EXPECT_FALSE(stacks_);
  request_.on_gone(0);
  ASSERT_TRUE(stacks_);
  EXPECT_EQ((*stacks_)[0]["state"].as_string(), "has ended");
  EXPECT_EQ((*stacks_)[1]["state"].as_string(), "busy");
}

TEST_F(StackRequestTest, OfNoWorkersEndsAtOnce) {
  start(0);
  ASSERT_TRUE(stacks_);
  EXPECT_TRUE(stacks_->empty());
}

TEST_F(StackRequestTest, WhatComesLateBelongsToNoRequest) {
  start(2);
  request_.on_gone(0);
  request_.on_gone(1);
  ASSERT_TRUE(stacks_);
  stacks_.reset();
  request_.on_gone(1);
  request_.on_answer(1, answer(1));
  EXPECT_FALSE(stacks_);
}

}  // namespace
}  // namespace rtrain
