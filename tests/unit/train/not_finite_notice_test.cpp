// NotFiniteNotice: one line in a run that names the ranks that saw a non-finite value first.
#include "host/train/reports/not_finite_notice.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/test_run.h"

namespace rtrain::train {
namespace {

class NotFiniteNoticeTest : public testing::Test {
 protected:
  NotFiniteNoticeTest() { run_.open(); }

  message::NotFinite found(int64_t step, const std::string& place = "") {
    return {.step = step,
            .what = "the loss is nan in step " + std::to_string(step + 1),
            .place = place};
  }
  // Rank 1 has a parameter that is not finite in step 7, rank 0 some value in that step.
  std::string with_parameter(int64_t step, int num_ranks) {
    NotFiniteNotice notice(run_.loop, *run_.events, num_ranks);
    message::NotFinite first = found(7, "the parameter w is not finite");
    first.is_in_replica = true;
    notice.add(1, first);
    notice.add(0, found(step));
    notice.tell();
    return notices();
  }
  std::string notices() {
    std::string out;
    for (const std::string& text : run_.take_notices()) out += text + "\n";
    return out;
  }

  TestRun run_;
};

constexpr const char* kAdvice = " (FailureConfig.on_nan = 'error' ends the run there)\n";

TEST_F(NotFiniteNoticeTest, NamesTheRankWithTheFewestSteps) {
  NotFiniteNotice notice(run_.loop, *run_.events, 3);
  notice.add(0, found(8));
  notice.add(1, found(7, "the parameter fc2.weight is not finite"));
  EXPECT_EQ(notices(), "");
  notice.add(2, found(8));
  EXPECT_EQ(notices(), std::string("the loss is nan in step 8 on rank 1: the parameter fc2.weight "
                                   "is not finite") +
                           kAdvice);
  run_.settle();
  EXPECT_EQ(run_.cell("SELECT count(*) FROM events WHERE level = 'warning'"), "1");
}

// behaviour: a loss that is not finite on a replica alone
TEST_F(NotFiniteNoticeTest, SaysThatAReplicaAloneHasChanged) {
  EXPECT_NE(with_parameter(8, 2).find("has changed those of rank 1 alone"), std::string::npos);
}

TEST_F(NotFiniteNoticeTest, OfAParameterOfAllRanksItSaysNoMore) {
  EXPECT_EQ(with_parameter(7, 2).find("alone"), std::string::npos);
}

TEST_F(NotFiniteNoticeTest, OfRanksThatHaveSaidNothingItKnowsNothing) {
  EXPECT_EQ(with_parameter(8, 3).find("alone"), std::string::npos);
}

TEST_F(NotFiniteNoticeTest, NamesAllRanksOfTheSameStep) {
  NotFiniteNotice notice(run_.loop, *run_.events, 5);
  for (const int rank : {4, 2, 0, 1}) notice.add(rank, found(3));
  notice.tell();
  EXPECT_EQ(notices(), std::string("the loss is nan in step 4 on ranks 0-2, 4") + kAdvice);
}

TEST_F(NotFiniteNoticeTest, DoesNotWaitForRanksThatSayNothing) {
  NotFiniteNotice notice(run_.loop, *run_.events, 2);
  notice.add(1, found(0));
  std::string said;
  run_.run_until([&] { return !(said += notices()).empty(); });
  EXPECT_EQ(said, std::string("the loss is nan in step 1 on rank 1") + kAdvice);
}

TEST_F(NotFiniteNoticeTest, SaysNothingAgainInAnotherAttempt) {
  for (int attempt = 1; attempt <= 2; ++attempt) {
    NotFiniteNotice notice(run_.loop, *run_.events, 1);
    notice.add(0, found(attempt));
  }
  EXPECT_EQ(notices(), std::string("the loss is nan in step 2 on rank 0") + kAdvice);
}

}  // namespace
}  // namespace rtrain::train
