#include "host/train/watch/profile_request.h"

#include <gtest/gtest.h>

#include "host/base/error.h"
#include "host/loop/loop.h"

namespace rtrain::train {
namespace {

class ProfileRequestTest : public ::testing::Test {
 protected:
  void start(const std::vector<int>& ranks) {
    ProfilePlan plan;
    plan.ranks = ranks;
    plan.settings.seconds = 1;
    plan.stem = "/run/profiles/now";
    request_.start(plan, [this](const auto& profiles) { profiles_ = profiles; });
  }
  message::Profile answer(size_t number, const char* path) {
    return {.id = sent_.at(number).second.id, .path = path, .events = 3};
  }

  loop::Loop loop_;
  std::vector<std::pair<int, message::AskProfile>> sent_;
  std::optional<std::vector<loop::RankProfile>> profiles_;
  ProfileRequest request_{loop_, [this](int rank, const message::ToWorker& message) {
                            sent_.emplace_back(rank, std::get<message::AskProfile>(message));
                          }};
};

TEST_F(ProfileRequestTest, AsksEveryRankForAFileOfItsOwnAndWaitsForAll) {
  start({0, 2});
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_[1].first, 2);
  EXPECT_EQ(sent_[1].second.path, "/run/profiles/now-rank2.json");
  request_.on_answer(2, answer(1, "two"));
  EXPECT_FALSE(profiles_);
  request_.on_answer(1, answer(0, "a rank that was not asked"));
  EXPECT_FALSE(profiles_);
  request_.on_answer(0, answer(0, "zero"));
  ASSERT_TRUE(profiles_);
  EXPECT_EQ((*profiles_)[0].path, "zero");
  EXPECT_EQ((*profiles_)[1].rank, 2);
}

TEST_F(ProfileRequestTest, OneAtATimeAndAnswersToAnOlderOneDoNotCount) {
  start({0});
  EXPECT_THROW(start({1}), Error);
  const message::Profile late = answer(0, "late");
  request_.on_gone(0);
  ASSERT_TRUE(profiles_);
  EXPECT_NE((*profiles_)[0].error.find("ended before"), std::string::npos);
  profiles_.reset();
  start({0});
  request_.on_answer(0, late);
  EXPECT_FALSE(profiles_);
  request_.on_answer(0, answer(1, "new"));
  EXPECT_TRUE(profiles_);
}

}  // namespace
}  // namespace rtrain::train
