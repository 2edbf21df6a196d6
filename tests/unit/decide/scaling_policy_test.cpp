#include "host/decide/scaling_policy.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

TEST(ScalingPolicy, FixedStartsWithItsNumberAndStaysThere) {
  const ScalingPolicy policy = ScalingPolicy::fixed(3);
  EXPECT_EQ(policy.start_size(2), std::nullopt);
  EXPECT_EQ(policy.start_size(3), 3);
  EXPECT_EQ(policy.start_size(100), 3);
  EXPECT_FALSE(policy.is_elastic());
  EXPECT_EQ(policy.resize(3, 100), std::nullopt);
  EXPECT_EQ(policy.resize(3, 1), std::nullopt);
}

TEST(ScalingPolicy, ElasticTakesWhatIsThereBetweenMinAndMax) {
  const ScalingPolicy policy = ScalingPolicy::elastic(2, 4, 60);
  EXPECT_EQ(policy.start_size(1), std::nullopt) << "waits below min";
  EXPECT_EQ(policy.start_size(2), 2);
  EXPECT_EQ(policy.start_size(3), 3);
  EXPECT_EQ(policy.start_size(9), 4) << "never above max";
  EXPECT_EQ(policy.resize_interval_s(), 60);
}

TEST(ScalingPolicy, ARunningElasticGroupGrowsAndShrinksButNotBelowMin) {
  const ScalingPolicy policy = ScalingPolicy::elastic(2, 4, 60);
  EXPECT_EQ(policy.resize(2, 2), std::nullopt);
  EXPECT_EQ(policy.resize(2, 3), 3);
  EXPECT_EQ(policy.resize(2, 9), 4);
  EXPECT_EQ(policy.resize(4, 9), std::nullopt);
  EXPECT_EQ(policy.resize(4, 2), 2);
  EXPECT_EQ(policy.resize(4, 1), std::nullopt) << "goes on as it is";
}

// behaviour: world sizes stay in their bounds
TEST(ScalingPolicy, NoDecisionLeavesTheRange) {
  for (int min = 1; min <= 4; ++min) {
    for (int max = min + 1; max <= 6; ++max) {
      const ScalingPolicy policy = ScalingPolicy::elastic(min, max, 1);
      for (int capacity = 0; capacity <= 9; ++capacity) {
        for (int running = min; running <= max; ++running) {
          const int next = policy.resize(running, capacity).value_or(running);
          EXPECT_GE(next, min);
          EXPECT_LE(next, max);
        }
        const int start = policy.start_size(capacity).value_or(min);
        EXPECT_GE(start, min);
        EXPECT_LE(start, max);
      }
    }
  }
}

}  // namespace
}  // namespace rtrain::decide
