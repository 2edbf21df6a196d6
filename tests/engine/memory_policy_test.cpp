// When tensor memory makes the collector run, as pure decisions.
#include <gtest/gtest.h>

#include "host/engine/memory/policy.h"

namespace rtrain {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kMiB = int64_t{1} << 20;

TEST(Ceiling, LittleMemoryIsNeverCollectedFor) {
  Ceiling ceiling;
  EXPECT_FALSE(ceiling.is_passed(Ceiling::kSmallest, 0));
  EXPECT_TRUE(ceiling.is_passed(Ceiling::kSmallest + 1, 0));
}

TEST(Ceiling, FollowsWhatIsLiveUpAndDown) {
  Ceiling ceiling;
  ceiling.settle(4 * kGiB, 0);
  EXPECT_FALSE(ceiling.is_passed(6 * kGiB, 0));
  EXPECT_TRUE(ceiling.is_passed(6 * kGiB + 1, 0));
  EXPECT_FALSE(ceiling.is_passed(1 * kGiB, 0));  // most of it was freed
  EXPECT_TRUE(ceiling.is_passed(2 * kGiB, 0));
}

TEST(Ceiling, StaysBelowFourFifthsOfTheDevice) {
  Ceiling ceiling;
  ceiling.settle(7 * kGiB, 10 * kGiB);
  EXPECT_FALSE(ceiling.is_passed(8 * kGiB - kMiB, 10 * kGiB));
  EXPECT_TRUE(ceiling.is_passed(8 * kGiB + kMiB, 10 * kGiB));
}

TEST(Ceiling, ADeviceThatIsFullOfLiveTensorsIsNotCollectedForAtEveryTensor) {
  Ceiling ceiling;
  ceiling.settle(9 * kGiB, 10 * kGiB);
  EXPECT_FALSE(ceiling.is_passed(9 * kGiB + 256 * kMiB, 10 * kGiB));
  EXPECT_TRUE(ceiling.is_passed(9 * kGiB + 700 * kMiB, 10 * kGiB));
}

TEST(StepBoundary, CollectsWhereItTakesAHundredthOfTheStep) {
  using std::chrono::microseconds;
  StepBoundary boundary;
  EXPECT_TRUE(boundary.is_worth(microseconds(1)));  // nothing is known yet
  boundary.settle(microseconds(500));
  EXPECT_FALSE(boundary.is_worth(microseconds(49'000)));
  EXPECT_TRUE(boundary.is_worth(microseconds(50'000)));
}

TEST(StepBoundary, TriesAgainNowAndThen) {
  StepBoundary boundary;
  boundary.settle(std::chrono::seconds(1));
  int tries = 0;
  for (int i = 0; i < 2000; ++i) {
    if (!boundary.is_worth(std::chrono::microseconds(10))) continue;
    ++tries;
    boundary.settle(std::chrono::seconds(1));
  }
  EXPECT_EQ(tries, 2);
}

}  // namespace
}  // namespace rtrain
