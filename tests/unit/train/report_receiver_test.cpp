#include "host/train/reports/report_receiver.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "tests/unit/run_until.h"

namespace rtrain::train {
namespace {

using std::chrono::milliseconds;
using Texts = std::vector<std::string>;

class FakeDelegate : public ReportReceiverDelegate {
 public:
  struct Sent {
    int rank;
    Value message;  // as a map
  };

  void send(int rank, message::ToWorker message) override {
    sent.push_back({rank, to_value(std::move(message))});
  }
  void warn(const std::string& text) override { warnings.push_back(text); }
  void on_report(Report report) override {
    received.push_back(cat(report.index, " of rank ", report.rank));
  }
  void on_reports_complete(std::vector<Report> reports) override {
    complete.push_back(std::move(reports));
  }
  size_t unwritten_bytes() const override { return unwritten; }
  uint64_t copied_bytes() const override { return copied; }

  std::vector<Value> sent_of(std::string_view type) const {
    std::vector<Value> out;
    for (const Sent& each : sent) {
      if (each.message["type"].as_string() == type) out.push_back(each.message);
    }
    return out;
  }

  std::vector<Sent> sent;
  Texts warnings;
  Texts received;
  std::vector<std::vector<Report>> complete;
  size_t unwritten = 0;
  mutable uint64_t copied = 0;
};

// Two ranks whose first report has the number 4.
class ReportReceiverTest : public testing::Test {
 protected:
  static constexpr double kNeverS = 1000;

  void make(double timeout_s, double notice_s) {
    receiver_.emplace(
        loop_,
        ReportReceiver::Options{
            .world_size = 2, .first_index = 4, .timeout_s = timeout_s, .notice_s = notice_s},
        delegate_);
  }

  void report(int rank, int64_t index, Report report = {}) {
    report.index = index;
    report.time_ms = 1;
    report.metrics = Map{{"loss", rank}};
    receiver_->on_report(rank, std::move(report));
  }
  static Report with_files() { return {.upload = Upload::kRunning}; }
  void files(int rank, int64_t index, const Texts& paths) {
    message::Files sent{.index = index, .files = {}};
    for (const std::string& path : paths) sent.files.push_back({.path = path});
    receiver_->on_files(rank, std::move(sent));
  }
  void uploaded(int rank, int64_t index) {
    receiver_->on_uploaded(rank, {.index = index, .checkpoint = StagedRank{.rank = rank}});
  }

  loop::Loop loop_;
  FakeDelegate delegate_;
  std::optional<ReportReceiver> receiver_;
};

TEST_F(ReportReceiverTest, ReportsAreWrittenAsTheyComeAndCompleteInTheirOrder) {
  make(kNeverS, kNeverS);
  report(0, 4);
  report(0, 5);
  EXPECT_TRUE(delegate_.complete.empty());
  report(1, 4);
  report(1, 5);
  EXPECT_EQ(delegate_.received,
            (Texts{"4 of rank 0", "5 of rank 0", "4 of rank 1", "5 of rank 1"}));
  ASSERT_EQ(delegate_.complete.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(delegate_.complete[i][1].index, static_cast<int64_t>(4 + i));
    EXPECT_EQ(delegate_.complete[i][1].rank, 1);
    EXPECT_EQ(delegate_.complete[i][1].metrics["loss"].as_int(), 1);
  }
  EXPECT_TRUE(delegate_.sent.empty()) << "a report without a checkpoint waits for no answer";
}

TEST_F(ReportReceiverTest, AMessageThatMakesNoSenseIsAnErrorAndIsNotWritten) {
  make(kNeverS, kNeverS);
  EXPECT_THROW(report(0, 4, {.upload = Upload::kStaged}), Error);
  EXPECT_THROW(report(0, 7), Error) << "reports have their numbers in order";
  EXPECT_THROW(uploaded(0, 4), Error) << "of a report that the rank has not made";
  EXPECT_THROW(receiver_->on_uploaded(0, {.index = 4}), Error) << "of nothing";
  EXPECT_TRUE(delegate_.received.empty());
}

TEST_F(ReportReceiverTest, AListOfFilesMayComeInParts) {
  make(kNeverS, kNeverS);
  report(0, 4, with_files());
  report(1, 4, with_files());
  files(0, 4, {"a", "b"});
  files(1, 4, {"x"});
  files(0, 4, {"c"});
  uploaded(0, 4);
  EXPECT_TRUE(delegate_.complete.empty()) << "rank 1 still copies";
  uploaded(1, 4);
  ASSERT_EQ(delegate_.complete.size(), 1U);
  const auto& reports = delegate_.complete[0];
  EXPECT_TRUE(reports[0].has_checkpoint);
  ASSERT_TRUE(reports[0].staged && reports[1].staged);
  ASSERT_EQ(reports[0].staged->files.size(), 3U);
  EXPECT_EQ(reports[0].staged->files[2].path, "c");
  EXPECT_EQ(reports[1].staged->files.size(), 1U);
}

TEST_F(ReportReceiverTest, AFolderThatAllHaveWrittenIsStagedByOneOfThem) {
  make(kNeverS, kNeverS);
  report(1, 4, {.metrics = {}, .upload = Upload::kInFolder, .folder = "/run/shared"});
  EXPECT_TRUE(delegate_.sent.empty()) << "rank 0 may still write there";
  report(0, 4, {.metrics = {}, .upload = Upload::kInFolder, .folder = "/run/shared"});
  ASSERT_EQ(delegate_.sent.size(), 1U);
  EXPECT_EQ(delegate_.sent[0].rank, 0);
  EXPECT_EQ(delegate_.sent[0].message["type"].as_string(), "seal");
  EXPECT_EQ(delegate_.sent[0].message["folder"].as_string(), "/run/shared");
}

TEST_F(ReportReceiverTest, RankZeroNamesTheCheckpointForAll) {
  make(kNeverS, kNeverS);
  report(1, 4, {.metrics = {}, .directory_name = "mine", .asks_name = true});
  EXPECT_TRUE(delegate_.sent.empty());
  report(0, 4, {.metrics = {}, .directory_name = "best"});
  ASSERT_EQ(delegate_.sent.size(), 1U);
  EXPECT_EQ(delegate_.sent[0].rank, 1);
  EXPECT_EQ(delegate_.sent[0].message["name"].as_string(), "best");
}

TEST_F(ReportReceiverTest, WhatWasAskedForIsAcknowledgedOnceItIsWritten) {
  make(kNeverS, kNeverS);
  delegate_.unwritten = size_t{100} << 20;
  report(0, 4, {.metrics = {}, .asks_progress = true});
  report(1, 4);
  EXPECT_TRUE(delegate_.sent.empty()) << "too much waits to be written";
  delegate_.unwritten = 0;
  receiver_->on_written();
  ASSERT_EQ(delegate_.sent.size(), 2U) << "both ranks";
  EXPECT_EQ(delegate_.sent[1].rank, 1);
  EXPECT_EQ(delegate_.sent[1].message["count"].as_int(), 5);
  receiver_->on_written();
  EXPECT_EQ(delegate_.sent.size(), 2U) << "nothing new";
}

TEST_F(ReportReceiverTest, ADeadlineEndsTheWaitAndNamesWhoIsMissing) {
  make(0.001, kNeverS);
  report(0, 4, with_files());
  run_until(loop_, [&] { return !delegate_.sent.empty(); });
  const Value& answer = delegate_.sent[0].message;
  EXPECT_EQ(answer["type"].as_string(), "reported");
  EXPECT_EQ(answer["error"]["code"].as_string(), "timeout");
  EXPECT_NE(answer["error"]["message"].as_string().find("behind: rank 1"), std::string::npos);
  report(1, 4);
  ASSERT_EQ(delegate_.complete.size(), 1U) << "the report itself counts";
  EXPECT_FALSE(delegate_.complete[0][0].has_checkpoint);
}

// The number of copied bytes grows at each query.
class CopyingDelegate : public FakeDelegate {
 public:
  uint64_t copied_bytes() const override { return ++copied; }
};

TEST_F(ReportReceiverTest, NoDeadlinePassesWhileBytesMove) {
  CopyingDelegate copying;
  ReportReceiver receiver(
      loop_, {.world_size = 2, .first_index = 4, .timeout_s = 0.001, .notice_s = kNeverS}, copying);
  receiver.on_report(0, {.index = 4, .time_ms = 1, .metrics = Map{}, .upload = Upload::kRunning});
  const uint64_t before = copying.copied;
  run_until(loop_, [&] { return copying.copied > before + 5; });
  EXPECT_TRUE(copying.sent.empty());
}

TEST_F(ReportReceiverTest, AWaitThatCannotComeTrueEndsAtOnce) {
  make(kNeverS, kNeverS);
  report(0, 4, {.metrics = {}, .upload = Upload::kRunning, .call_site = "train.lua:7"});
  EXPECT_TRUE(delegate_.sent.empty());
  receiver_->on_returned(1);
  ASSERT_EQ(delegate_.sent.size(), 1U);
  EXPECT_EQ(delegate_.sent[0].rank, 0);
  const std::string& text = delegate_.sent[0].message["error"]["message"].as_string();
  EXPECT_NE(text.find("train.lua:7"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1 has already returned"), std::string::npos) << text;
}

TEST_F(ReportReceiverTest, RanksThatACheckpointWaitsForAreNamedAgainAndAgain) {
  make(kNeverS, 0.001);
  report(1, 4, with_files());
  run_until(loop_, [&] { return delegate_.warnings.size() > 1; });
  EXPECT_NE(delegate_.warnings[0].find("behind: rank 0 (0 reports)"), std::string::npos);
  EXPECT_TRUE(delegate_.sent.empty());
}

}  // namespace
}  // namespace rtrain::train
