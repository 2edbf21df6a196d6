#include "host/train/watch/stack_request.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "host/loop/loop.h"

namespace rtrain::train {
namespace {

class StackRequestTest : public ::testing::Test {
 protected:
  void start(int num_ranks) {
    std::vector<StackRequest::Target> targets;
    for (int rank = 0; rank < num_ranks; ++rank) targets.push_back({rank, getpid()});
    request_.start(targets, "", [this](const auto& stacks) { stacks_ = stacks; });
  }
  message::Stack answer(size_t number) {
    return {.id = sent_.at(number).id, .state = "busy", .lua = {"train.lua:7"}, .threads = {}};
  }

  loop::Loop loop_;
  decide::RankFacts facts_;
  std::vector<message::AskStack> sent_;
  std::optional<std::vector<loop::RankStack>> stacks_;
  StackRequest request_{
      loop_, [this](int) { return facts_; },
      [this](int, const message::ToWorker& m) { sent_.push_back(std::get<message::AskStack>(m)); }};
};

TEST_F(StackRequestTest, EndsWhenEveryWorkerHasAnsweredOrEnded) {
  start(2);
  request_.on_answer(1, answer(1));
  EXPECT_FALSE(stacks_);
  request_.on_gone(0);
  ASSERT_TRUE(stacks_);
  EXPECT_EQ((*stacks_)[0].state, "has ended");
  EXPECT_EQ((*stacks_)[1].state, "busy");
}

TEST_F(StackRequestTest, AStoppedWorkerIsDescribedByWhatItShows) {
  facts_.state = 'T';
  facts_.wait = decide::WaitFacts{.operation = "all_reduce", .line = {}, .frames = {"train.lua:9"}};
  facts_.calls = {{4, "all_reduce", "float32 [4]", "train.lua:9"}};
  start(1);
  EXPECT_TRUE(sent_.empty()) << "it could not answer";
  request_.on_gone(0);
  ASSERT_TRUE(stacks_);
  const loop::RankStack& stack = stacks_->at(0);
  EXPECT_NE(stack.state.find("has ended, was waiting in all_reduce"), std::string::npos);
  EXPECT_EQ(stack.lua, std::vector<std::string>{"train.lua:9"});
  EXPECT_EQ(stack.collectives.at(0).tensors, "float32 [4]");
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
}  // namespace rtrain::train
