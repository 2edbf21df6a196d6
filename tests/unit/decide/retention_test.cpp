#include "host/decide/checkpoints/retention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "host/base/error.h"

namespace rtrain::decide {
namespace {

using Positions = std::vector<size_t>;

RetentionPolicy policy(int64_t keep, const std::string& attribute, bool maximize = true) {
  return {keep, attribute, maximize};
}

std::vector<Value> scores(const std::vector<double>& numbers) {
  std::vector<Value> out;
  for (const double number : numbers) out.push_back(Map{{"acc", number}});
  return out;
}

TEST(Retention, KeepsAllWithoutANumber) {
  EXPECT_EQ(checkpoints_to_drop({}, scores({1, 2, 3})), Positions{});
}

TEST(Retention, WithoutAnAttributeKeepsTheNewest) {
  EXPECT_EQ(checkpoints_to_drop(policy(2, ""), scores({9, 8, 7, 6})), (Positions{0, 1}));
}

TEST(Retention, KeepsTheBestAndTheLatest) {
  EXPECT_EQ(checkpoints_to_drop(policy(1, "acc"), scores({0.9, 0.5, 0.1})), Positions{1});
  EXPECT_EQ(checkpoints_to_drop(policy(2, "acc"), scores({0.9, 0.5, 0.95})), Positions{1});
}

TEST(Retention, OrdersByTheSmallestForMin) {
  EXPECT_EQ(checkpoints_to_drop(policy(1, "acc", false), scores({0.9, 0.1, 0.5})), Positions{0});
}

// behaviour: ties go by report number
TEST(Retention, OfEqualScoresTheNewerIsBetter) {
  EXPECT_EQ(checkpoints_to_drop(policy(1, "acc"), scores({0.5, 0.5, 0.1})), Positions{0});
}

// behaviour: a checkpoint without score never displaces one with
TEST(Retention, AMissingOrNaNScoreIsTheWorstInBothOrders) {
  std::vector<Value> metrics = scores({5, std::nan(""), -HUGE_VAL, 7});
  metrics.insert(metrics.begin(), Value(Map{{"other", 1}}));
  for (const bool maximize : {true, false}) {
    EXPECT_EQ(checkpoints_to_drop(policy(2, "acc", maximize), metrics).front(), 0u);
    const Positions order = rank_checkpoints(policy(2, "acc", maximize), metrics);
    EXPECT_EQ(Positions(order.end() - 2, order.end()), (Positions{2, 0}));
  }
}

// behaviour: validation rescues a checkpoint
TEST(Retention, APinnedOneSurvivesAndRanksByItsNewScore) {
  std::vector<Value> metrics = scores({0.9, 0.1, 0.8, 0.7});
  EXPECT_EQ(checkpoints_to_drop(policy(1, "acc"), metrics, {1}), Positions{2});
  metrics[1] = Map{{"acc", 0.99}};
  EXPECT_EQ(checkpoints_to_drop(policy(1, "acc"), metrics), (Positions{0, 2}));
}

TEST(Retention, APinnedOneAmongTheBestTakesItsPlace) {
  EXPECT_EQ(checkpoints_to_drop(policy(1, "acc"), scores({0.9, 0.5, 0.1}), {0}), Positions{1});
}

TEST(Retention, AScoreThatIsNoNumberIsRefused) {
  EXPECT_THROW(check_score(policy(1, "acc"), Map{{"acc", "high"}}), Error);
  EXPECT_NO_THROW(check_score(policy(1, "acc"), Map{{"acc", 1}}));
  EXPECT_NO_THROW(check_score(policy(1, "acc"), Map{{"loss", "high"}}));
  EXPECT_NO_THROW(check_score({}, Map{{"acc", "high"}}));
}

TEST(Retention, AMissingScoreNamesTheKeysThatAreThere) {
  EXPECT_EQ(missing_score(policy(1, "acc"), Map{{"acc", 1}}), "");
  EXPECT_EQ(missing_score({}, Map{}), "");
  const std::string text = missing_score(policy(1, "acc"), Map{{"loss", 1}, {"epoch", 2}});
  EXPECT_NE(text.find("'acc'"), std::string::npos) << text;
  EXPECT_NE(text.find("loss, epoch"), std::string::npos) << text;
}

TEST(Retention, FollowsNestedKeys) {
  const std::vector<Value> metrics = {Map{{"val", Map{{"acc", 0.9}}}}, Map{{"val/acc", 0.1}},
                                      Map{{"val", Map{{"acc", 0.5}}}}};
  EXPECT_EQ(rank_checkpoints(policy(1, "val/acc"), metrics), (Positions{0, 2, 1}));
}

TEST(Retention, ReadsTheCheckpointConfig) {
  const RetentionPolicy read =
      RetentionPolicy::from_value(Map{{"num_to_keep", 2},
                                      {"checkpoint_score_attribute", "loss"},
                                      {"checkpoint_score_order", "min"}});
  EXPECT_EQ(read.num_to_keep, 2);
  EXPECT_EQ(read.score_attribute, "loss");
  EXPECT_FALSE(read.maximize);
  EXPECT_FALSE(RetentionPolicy::from_value({}).num_to_keep);
}

}  // namespace
}  // namespace rtrain::decide
