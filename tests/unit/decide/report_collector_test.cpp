#include "host/decide/report_collector.h"

#include <gtest/gtest.h>

#include "host/decide/report_flow.h"

namespace rtrain::decide {
namespace {

Report report(int rank, int64_t index, Upload upload = Upload::kNone) {
  Report out;
  out.rank = rank;
  out.index = index;
  out.metrics = Map{{"rank", rank}};
  out.upload = upload;
  out.deadline_s = 100;
  return out;
}

Report in_folder(int rank, int64_t index, const std::string& folder) {
  Report out = report(rank, index, Upload::kInFolder);
  out.folder = folder;
  return out;
}

ReportCollector::Progress staged(ReportCollector& handler, int rank, int64_t index) {
  return handler.add_upload(report(rank, index, Upload::kStaged), 100);
}

TEST(ReportCollector, GivesAReportOnceAllRanksMadeIt) {
  ReportCollector handler(3, 5);
  EXPECT_TRUE(handler.add(report(2, 5)).complete.empty());
  EXPECT_TRUE(handler.add(report(2, 6)).complete.empty());
  EXPECT_TRUE(handler.add(report(0, 5)).complete.empty());
  EXPECT_EQ(handler.least(), 5);
  const auto complete = handler.add(report(1, 5)).complete;
  EXPECT_EQ(handler.least(), 6);
  ASSERT_EQ(complete.size(), 1U);
  ASSERT_EQ(complete[0].size(), 3U);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(complete[0][rank].metrics["rank"], Value(rank));
}

TEST(ReportCollector, RefusesANumberThatIsNotTheNext) {
  ReportCollector handler(2, 0);
  EXPECT_THROW(handler.add(report(0, 1)), Error);
  handler.add(report(0, 0));
  EXPECT_THROW(handler.add(report(0, 0)), Error);
}

TEST(ReportCollector, AReportWhoseFilesNeverComeIsCompleteWithoutThem) {
  ReportCollector handler(2, 0);
  handler.add(report(0, 0, Upload::kRunning));
  EXPECT_TRUE(handler.add(report(1, 0)).complete.empty());
  const auto progress = handler.take_stuck(101);
  ASSERT_EQ(progress.complete.size(), 1U);
  EXPECT_EQ(progress.complete[0][0].upload, Upload::kFailed);
  EXPECT_TRUE(staged(handler, 0, 0).complete.empty()) << "they came too late";
  EXPECT_THROW(staged(handler, 0, 0), Error) << "and came again";
}

Report for_all(int64_t index) {
  Report out = report(0, index);
  out.is_for_all = true;
  return out;
}

TEST(ReportCollector, OneForAllIsEveryRanks) {
  ReportCollector handler(3, 5);
  for (int64_t index = 5; index < 5 + 10 * kMaxReportsAhead; ++index) {
    const auto complete = handler.add(for_all(index)).complete;
    ASSERT_EQ(complete.size(), 1U);
    ASSERT_EQ(complete[0].size(), 1U) << "the others have nothing to say";
    ASSERT_EQ(complete[0][0].index, index);
  }
  EXPECT_EQ(handler.least(), 5 + 10 * kMaxReportsAhead);
  EXPECT_EQ(handler.num_pending(), 0U);
  EXPECT_EQ(handler.uneven(), "");
}

TEST(ReportCollector, OneForAllDoesNotMixWithTheirOwn) {
  ReportCollector handler(2, 0);
  handler.add(report(1, 0));
  EXPECT_THROW(handler.add(for_all(0)), Error);
  handler.add(report(0, 0));
  EXPECT_THROW(handler.add(for_all(2)), Error) << "not the next number";
  Report with_files = for_all(1);
  with_files.upload = Upload::kRunning;
  EXPECT_THROW(handler.add(with_files), Error);
  EXPECT_EQ(handler.add(for_all(1)).complete.size(), 1U);
}

TEST(ReportCollector, KeepsNoMoreThanItsBound) {
  ReportCollector handler(2, 0);
  int64_t index = 0;
  const auto run_ahead = [&] {
    for (; index < 10 * kMaxReportsAhead; ++index) handler.add(report(0, index));
  };
  EXPECT_THROW(run_ahead(), Error);
}

// A report that follows a running upload waits until that upload is complete.
TEST(ReportCollector, ReportsBecomeCompleteInTheirOrder) {
  ReportCollector handler(2, 0);
  handler.add(report(0, 0, Upload::kRunning));
  handler.add(report(1, 0, Upload::kRunning));
  handler.add(report(0, 1));
  EXPECT_TRUE(handler.add(report(1, 1)).complete.empty());
  EXPECT_EQ(handler.least(), 2);
  EXPECT_EQ(handler.num_pending(), 2U);
  EXPECT_TRUE(staged(handler, 1, 0).complete.empty());
  const auto complete = staged(handler, 0, 0).complete;
  ASSERT_EQ(complete.size(), 2U);
  EXPECT_TRUE(complete[0][0].has_checkpoint && complete[0][1].has_checkpoint);
  EXPECT_EQ(complete[1][0].index, 1);
  EXPECT_FALSE(complete[1][0].has_checkpoint);
}

// A checkpoint is complete only when every rank has delivered its files.
// behaviour: death after a report is staged
TEST(ReportCollector, OneRanksFilesAreNoCheckpoint) {
  ReportCollector handler(2, 0);
  handler.add(report(0, 0, Upload::kRunning));
  handler.add(report(1, 0, Upload::kRunning));
  EXPECT_TRUE(staged(handler, 0, 0).complete.empty());
  EXPECT_TRUE(handler.take_stuck(50).stuck.empty());
  const auto stuck = handler.take_stuck(101).stuck;
  ASSERT_EQ(stuck.size(), 2U);
  EXPECT_NE(stuck[0].error.message().find("not yet staged: the files of rank 1"),
            std::string::npos);
  EXPECT_TRUE(staged(handler, 1, 0).complete.empty()) << "given up: it came too late";
}

TEST(ReportCollector, DeadlinesBeginAnewWhileAnUploadMoves) {
  ReportCollector handler(2, 0);
  handler.add(report(0, 0, Upload::kRunning));
  handler.add(report(1, 0, Upload::kRunning));
  staged(handler, 0, 0);
  handler.postpone(150);
  EXPECT_EQ(handler.next_due(), 150);
  EXPECT_TRUE(handler.take_stuck(149).stuck.empty());
  EXPECT_EQ(handler.take_stuck(150).stuck.size(), 2U);
}

TEST(ReportCollector, AFailedUploadMakesTheWholeReportFail) {
  ReportCollector handler(2, 0);
  handler.add(report(0, 0, Upload::kRunning));
  handler.add(report(1, 0, Upload::kRunning));
  staged(handler, 0, 0);
  Report failed = report(1, 0, Upload::kFailed);
  failed.error = Error(Code::kEnvironment, "disk full");
  const auto complete = handler.add_upload(failed, 100).complete;
  ASSERT_EQ(complete.size(), 1U);
  ASSERT_NE(failed_upload(complete[0]), nullptr);
  EXPECT_EQ(failed_upload(complete[0])->rank, 1);
}

TEST(ReportCollector, RefusesAnUploadThatIsNotRunning) {
  ReportCollector handler(2, 0);
  EXPECT_THROW(staged(handler, 0, 0), Error);
  handler.add(report(0, 0));
  EXPECT_THROW(staged(handler, 0, 0), Error);
}

TEST(ReportCollector, AFolderIsStagedByOneRankWhenAllHaveReported) {
  ReportCollector handler(3, 0);
  EXPECT_TRUE(handler.add(in_folder(2, 0, "/run/a")).seals.empty());
  EXPECT_TRUE(handler.add(in_folder(1, 0, "/run/a")).seals.empty());
  const auto seals = handler.add(in_folder(0, 0, "/run/b")).seals;
  ASSERT_EQ(seals.size(), 2U);
  EXPECT_EQ(seals[0].rank, 0);
  EXPECT_EQ(seals[0].folder, "/run/b");
  EXPECT_EQ(seals[1].rank, 1);
  EXPECT_TRUE(staged(handler, 0, 0).complete.empty());
  const auto complete = staged(handler, 1, 0).complete;
  ASSERT_EQ(complete.size(), 1U);
  EXPECT_TRUE(complete[0][0].has_checkpoint && complete[0][1].has_checkpoint);
  EXPECT_FALSE(complete[0][2].has_checkpoint) << "its folder is rank 1's";
}

TEST(ReportCollector, TheNameIsRank0sOrTheAskingRanksOwn) {
  ReportCollector handler(3, 0);
  Report asking = report(1, 0, Upload::kRunning);
  asking.asks_name = true;
  asking.directory_name = "mine";
  EXPECT_TRUE(handler.add(asking).named.empty());
  asking.rank = 2;
  Report first = report(0, 0);
  const auto named = handler.add(first).named;
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].name, "mine");

  ReportCollector other(2, 0);
  first.directory_name = "rank 0's";
  other.add(first);
  asking.rank = 1;
  const auto known = other.add(asking).named;
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].name, "rank 0's");
}

TEST(ReportCollector, AWaitForARankThatReturnedNamesBoth) {
  ReportCollector handler(2, 0);
  Report last = report(0, 0);
  last.call_site = "train.lua:7";
  handler.add(last);
  handler.add(report(1, 0));
  Report waiting = report(1, 1, Upload::kStaged);
  waiting.call_site = "train.lua:9";
  handler.add(waiting);
  EXPECT_TRUE(handler.take_stuck(0).stuck.empty());
  handler.set_returned(0);
  const auto stuck = handler.take_stuck(0).stuck;
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck[0].rank, 1);
  EXPECT_EQ(stuck[0].index, 1);
  EXPECT_EQ(stuck[0].error.code(), Code::kUser);
  EXPECT_EQ(stuck[0].error.message(),
            "rank 1 waits in report() number 1 at train.lua:9 with a checkpoint, but rank 0 has "
            "already returned from the train function after 1 report, the last at train.lua:7: "
            "every rank must call report() the same number of times");
  EXPECT_TRUE(handler.take_stuck(0).stuck.empty());
}

TEST(ReportCollector, ADeadlineNamesTheRanksThatAreBehind) {
  ReportCollector handler(3, 0);
  handler.add(report(0, 0, Upload::kStaged));
  handler.add(report(1, 0));
  EXPECT_TRUE(handler.take_stuck(99).stuck.empty());
  ASSERT_TRUE(handler.next_due());
  EXPECT_DOUBLE_EQ(*handler.next_due(), 100);
  const auto stuck = handler.take_stuck(100).stuck;
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck[0].error.code(), Code::kTimeout);
  EXPECT_NE(stuck[0].error.message().find("behind: rank 2 (0 reports)"), std::string::npos);
  EXPECT_FALSE(handler.next_due());
}

TEST(ReportCollector, ANoticeComesOnceInEachInterval) {
  ReportCollector handler(2, 0, 10);
  handler.add(report(0, 0, Upload::kStaged));
  EXPECT_FALSE(handler.take_notice(5)) << "the interval begins";
  EXPECT_DOUBLE_EQ(*handler.next_due(), 15);
  EXPECT_FALSE(handler.take_notice(14));
  const auto notice = handler.take_notice(15);
  ASSERT_TRUE(notice);
  EXPECT_NE(notice->find("behind: rank 1 (0 reports)"), std::string::npos) << *notice;
  EXPECT_FALSE(handler.take_notice(16));
  EXPECT_TRUE(handler.take_notice(25));
}

TEST(ReportCollector, UnequalCountsAreNamed) {
  ReportCollector handler(2, 0);
  EXPECT_EQ(handler.uneven(), "");
  handler.add(report(1, 0));
  EXPECT_NE(handler.uneven().find("rank 0 made 0, rank 1 made 1"), std::string::npos);
}

TEST(ReportFlow, TellsWhatWasAskedForWhenThereIsRoom) {
  ReportFlow flow(3);
  EXPECT_FALSE(flow.take(7, 0, 0)) << "nobody asked";
  flow.want(5);
  EXPECT_FALSE(flow.take(3, 0, 0)) << "nothing new";
  EXPECT_FALSE(flow.take(7, ReportFlow::kMaxUnwrittenBytes + 1, 0));
  EXPECT_FALSE(flow.take(7, 0, ReportFlow::kMaxPending + 1));
  EXPECT_EQ(flow.take(4, 0, 0), 4);
  EXPECT_EQ(flow.take(7, 0, 0), 7);
  EXPECT_FALSE(flow.take(8, 0, 0)) << "more than was asked for was answered already";
}

}  // namespace
}  // namespace rtrain::decide
