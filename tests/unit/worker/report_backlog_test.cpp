#include "host/worker/report_backlog.h"

#include <gtest/gtest.h>

#include <thread>

#include "host/base/error.h"

namespace rtrain::worker {
namespace {

constexpr size_t kLarge = size_t{4} << 20;  // at most two reports of this size may wait

class ReportBacklogTest : public testing::Test {
 protected:
  std::string refusal(size_t bytes, int64_t index, double timeout_s) {
    try {
      backlog_.add(bytes, index, timeout_s);
    } catch (const Error& e) {
      return e.message();
    }
    return "none";
  }

  Idle idle_;
  Progress progress_;
  ReportBacklog backlog_{idle_, progress_};
};

TEST_F(ReportBacklogTest, ARankThatIsFarAheadIsToldBySetting) {
  backlog_.add(kLarge, 0, 60);
  backlog_.add(kLarge, 1, 60);
  EXPECT_EQ(refusal(1, 2, 0.01),
            "report() number 2: 2 reports (8192 KiB) of this rank wait to be taken for 0.01 s "
            "(timeout_s): another rank makes fewer, the store cannot be written, or the run's "
            "controller is stopped (SIGSTOP, Ctrl-Z)");
}

TEST_F(ReportBacklogTest, ManySmallReportsFillItToo) {
  for (int64_t i = 0; i < 1024; ++i) backlog_.add(1, i, 60);
  EXPECT_NE(refusal(1, 1024, 0.01), "none");
}

TEST_F(ReportBacklogTest, OneReportOfAnySizeIsAlwaysTaken) { backlog_.add(100 * kLarge, 0, 60); }

TEST_F(ReportBacklogTest, WhatTheControllerTakesMakesRoom) {
  backlog_.add(kLarge, 0, 60);
  backlog_.add(kLarge, 1, 60);
  std::thread controller([this] { backlog_.take(1); });
  backlog_.add(kLarge, 2, 60);
  controller.join();
  backlog_.take(1);  // a repeated count makes no room
  EXPECT_NE(refusal(kLarge, 3, 0.01), "none");
}

TEST_F(ReportBacklogTest, ItAsksNowAndThen) {
  int asked = 0;
  for (int i = 0; i < 1000; ++i) asked += backlog_.should_ask(10) ? 1 : 0;
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(backlog_.should_ask(kLarge)) << "much at once";
}

TEST_F(ReportBacklogTest, TheEndOfTheChannelEndsTheWait) {
  backlog_.add(kLarge, 0, 60);
  backlog_.add(kLarge, 1, 60);
  std::thread control([this] { backlog_.close(); });
  EXPECT_EQ(refusal(kLarge, 2, 60), "the connection to the controller is closed");
  control.join();
}

}  // namespace
}  // namespace rtrain::worker
