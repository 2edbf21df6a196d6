#include "host/decide/checkpoints/checkpoint_queries.h"

#include <gtest/gtest.h>

namespace rtrain::decide {
namespace {

CheckpointQuery query(int rank, int64_t reports, bool validated = false, int64_t repeat = 0) {
  return {.rank = rank,
          .call = 10 + rank,
          .question = {reports, validated, repeat},
          .asked_s = 0,
          .timeout_s = 60,
          .takes_partial = false};
}

std::vector<int> ranks(const std::vector<CheckpointQuery>& queries) {
  std::vector<int> out;
  for (const CheckpointQuery& each : queries) out.push_back(each.rank);
  return out;
}

TEST(CheckpointQueries, AnswersWhenTheReportsAreComplete) {
  CheckpointQueries queries;
  EXPECT_FALSE(queries.add(query(0, 2)));
  EXPECT_TRUE(queries.take_due({.complete = 1}, 0).empty());
  const auto due = queries.take_due({.complete = 2}, 0);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_TRUE(queries.take_due({.complete = 2}, 0).empty()) << "each question is given once";
  EXPECT_EQ(ranks(queries.answer(due[0], {})), std::vector{0});
}

// behaviour: COMMITTED and VALIDATED
TEST(CheckpointQueries, OnlyValidatedWaitsForValidations) {
  CheckpointQueries queries;
  queries.add(query(0, 2, true));
  queries.add(query(1, 2, false));
  const auto due = queries.take_due({.complete = 2, .first_pending = 1}, 0);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_FALSE(due[0].validated);
  EXPECT_EQ(queries.take_due({.complete = 3, .first_pending = 2}, 0).size(), 1u)
      << "a later report's validation is not waited for";
}

// behaviour: `get_all_reported_checkpoints` counts checkpoints
TEST(CheckpointQueries, RanksGetTheSameAnswerWheneverTheyAsk) {
  CheckpointQueries queries;
  queries.add(query(0, 1));
  queries.add(query(1, 1));
  const auto due = queries.take_due({.complete = 1}, 0);
  ASSERT_EQ(due.size(), 1u);
  const List checkpoints{Value("a")};
  EXPECT_EQ(ranks(queries.answer(due[0], checkpoints)), (std::vector{0, 1}));
  EXPECT_EQ(queries.add(query(2, 1)), checkpoints) << "who asks later";
  EXPECT_FALSE(queries.add(query(2, 1, false, 1))) << "who asks again";
}

TEST(CheckpointQueries, WhoAsksWhileTheAnswerIsLookedUpIsAnsweredWithTheOthers) {
  CheckpointQueries queries;
  queries.add(query(0, 1));
  const auto due = queries.take_due({.complete = 1}, 0);
  ASSERT_EQ(due.size(), 1u);
  queries.add(query(1, 1));
  EXPECT_TRUE(queries.take_due({.complete = 1}, 0).empty());
  EXPECT_EQ(ranks(queries.answer(due[0], {})), (std::vector{0, 1}));
}

TEST(CheckpointQueries, AGivenTimeEndsInWhatIsThere) {
  CheckpointQueries queries;
  CheckpointQuery patient = query(0, 5);
  patient.timeout_s = 3;
  patient.takes_partial = true;
  queries.add(patient);
  queries.add(query(1, 5));
  EXPECT_EQ(queries.next_deadline(), 3);
  EXPECT_TRUE(queries.take_due({.complete = 1}, 2.9).empty());
  const auto due = queries.take_due({.complete = 1}, 3);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(ranks(queries.answer(due[0], {})), (std::vector{0, 1})) << "all get the same";
}

TEST(CheckpointQueries, TheRunsTimeEndsInAnErrorThatNamesWhoIsBehind) {
  CheckpointQueries queries;
  queries.add(query(1, 5));
  EXPECT_TRUE(queries.take_late({.complete = 3, .behind = "rank 0 (3 reports)"}, 59).empty());
  const auto late = queries.take_late({.complete = 3, .behind = "rank 0 (3 reports)"}, 60);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].second.code(), Code::kTimeout);
  for (const char* part : {"rank 1", "60 s", "timeout_s", "rank 0 (3 reports)"}) {
    EXPECT_NE(late[0].second.message().find(part), std::string::npos) << late[0].second.message();
  }
  EXPECT_FALSE(queries.next_deadline());
}

}  // namespace
}  // namespace rtrain::decide
