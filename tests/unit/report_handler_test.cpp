#include "host/train/report_handler.h"

#include <gtest/gtest.h>

namespace rtrain {
namespace {

Report report(int rank, int64_t index, bool has_checkpoint = false) {
  Report out;
  out.rank = rank;
  out.index = index;
  out.metrics = Map{{"rank", rank}};
  out.has_checkpoint = has_checkpoint;
  out.deadline_s = 100;
  return out;
}

TEST(ReportHandler, GivesAReportOnceAllRanksMadeIt) {
  ReportHandler handler(3, 5);
  EXPECT_FALSE(handler.add(report(2, 5)));
  EXPECT_FALSE(handler.add(report(2, 6)));
  EXPECT_FALSE(handler.add(report(0, 5)));
  const auto complete = handler.add(report(1, 5));
  ASSERT_TRUE(complete);
  ASSERT_EQ(complete->size(), 3U);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ((*complete)[rank].metrics["rank"], Value(rank));
}

TEST(ReportHandler, RefusesANumberThatIsNotTheNext) {
  ReportHandler handler(2, 0);
  EXPECT_THROW(handler.add(report(0, 1)), Error);
  handler.add(report(0, 0));
  EXPECT_THROW(handler.add(report(0, 0)), Error);
}

TEST(ReportHandler, KeepsNoMoreThanItsBound) {
  ReportHandler handler(2, 0);
  int64_t index = 0;
  const auto run_ahead = [&] {
    for (; index < 10 * kMaxReportsAhead; ++index) handler.add(report(0, index));
  };
  EXPECT_THROW(run_ahead(), Error);
}

TEST(ReportHandler, AWaitForARankThatReturnedNamesBoth) {
  ReportHandler handler(2, 0);
  handler.add(report(0, 0));
  handler.add(report(1, 0));
  handler.add(report(1, 1, true));
  EXPECT_TRUE(handler.take_stuck(0).empty());
  handler.set_returned(0);
  const auto stuck = handler.take_stuck(0);
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck[0].rank, 1);
  EXPECT_EQ(stuck[0].index, 1);
  EXPECT_EQ(stuck[0].error.code(), Code::kUser);
  EXPECT_NE(stuck[0].error.message().find("rank 1 waits"), std::string::npos);
  EXPECT_NE(stuck[0].error.message().find("rank 0 has already returned"), std::string::npos);
  EXPECT_TRUE(handler.take_stuck(0).empty());
}

TEST(ReportHandler, AReturnedRankThatMadeTheReportHoldsNobodyBack) {
  ReportHandler handler(3, 0);
  handler.add(report(0, 0));
  handler.set_returned(0);
  handler.add(report(1, 0, true));
  EXPECT_TRUE(handler.take_stuck(0).empty());
  EXPECT_TRUE(handler.add(report(2, 0)));
}

TEST(ReportHandler, AWaitEndsAtItsDeadlineNamingTheRanksBehind) {
  ReportHandler handler(2, 0);
  EXPECT_FALSE(handler.next_deadline());
  handler.add(report(0, 0, true));
  EXPECT_EQ(handler.next_deadline(), 100);
  EXPECT_TRUE(handler.take_stuck(99).empty());
  const auto stuck = handler.take_stuck(100);
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck[0].error.code(), Code::kTimeout);
  EXPECT_NE(stuck[0].error.message().find("behind: rank 1 (0 reports)"), std::string::npos);
  EXPECT_FALSE(handler.next_deadline());
}

TEST(ReportHandler, SaysWhichRanksMadeDifferentNumbersOfReports) {
  ReportHandler handler(2, 0);
  EXPECT_EQ(handler.uneven(), "");
  handler.add(report(1, 0));
  EXPECT_NE(handler.uneven().find("rank 0 made 0, rank 1 made 1"), std::string::npos);
}

}  // namespace
}  // namespace rtrain
