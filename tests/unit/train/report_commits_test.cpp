#include "host/train/reports/report_commits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "host/base/text/text.h"
#include "tests/unit/test_run.h"

namespace rtrain::train {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

// Records the events in order.
class FakeDelegate : public ReportCommitsDelegate {
 public:
  explicit FakeDelegate(TestRun& run) : run_(run) {}

  void send_all(message::ToWorker message) override {
    const auto& answer = std::get<message::Reported>(message);
    log.push_back(cat("answer ", answer.index));
    answers.push_back(answer);
    // A rank that continues after this answer may rely on the files and the row.
    if (!answer.path.empty()) {
      EXPECT_TRUE(fs::exists(answer.path));
      EXPECT_NE(run_.cell("SELECT count(*) FROM checkpoints"), "0");
    }
  }
  void on_commit_ended(int64_t index, const store::CheckpointRow* checkpoint) override {
    for (const Value& event : run_.take_events("report")) add_event(event);
    log.push_back(cat("ended ", index, checkpoint == nullptr ? "" : " " + checkpoint->name));
  }
  void add_event(const Value& event) { log.push_back(cat("event ", event["index"].as_int())); }

  Texts log;
  std::vector<message::Reported> answers;

 private:
  TestRun& run_;
};

class ReportCommitsTest : public testing::Test {
 protected:
  void open() {
    run_.open();
    writer_.emplace(run_.loop, *run_.io, [] {});
    commits_.emplace(*run_.io, *writer_, *run_.events, delegate_);
    commits_->begin_attempt(1, Value());
  }

  static std::vector<Report> plain(int64_t index) {
    std::vector<Report> out(2);
    for (int rank = 0; rank < 2; ++rank) {
      Report& report = out[static_cast<size_t>(rank)];
      report.rank = rank;
      report.index = index;
      report.metrics = Map{{"loss", 10 * index + rank}};
    }
    return out;
  }
  std::vector<Report> with_checkpoint(int64_t index) {
    return {run_.staged_report(index, 0, "zero"), run_.staged_report(index, 1, "one")};
  }
  void add_last_events() {
    for (const Value& event : run_.take_events("report")) delegate_.add_event(event);
  }

  TestRun run_;
  FakeDelegate delegate_{run_};
  std::optional<RecordWriter> writer_;
  std::optional<ReportCommits> commits_;
};

TEST_F(ReportCommitsTest, AReportWithoutACheckpointIsAnEventAtOnce) {
  open();
  commits_->complete(plain(0));
  const auto events = run_.take_events("report");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["metrics"]["loss"].as_int(), 0) << "of rank 0";
  EXPECT_EQ(events[0]["ranks"].as_list().size(), 2U);
  EXPECT_TRUE(events[0]["checkpoint"].is_nil());
  EXPECT_EQ(commits_->num_reports(), 1);
  EXPECT_TRUE(delegate_.log.empty()) << "nobody waits for an answer";
}

TEST_F(ReportCommitsTest, TheRanksAreAnsweredAfterTheCommitAndEventsKeepTheirOrder) {
  open();
  commits_->complete(with_checkpoint(0));
  EXPECT_EQ(commits_->first_under_way(), 0);
  commits_->complete(plain(1));
  commits_->complete(with_checkpoint(2));
  EXPECT_TRUE(delegate_.log.empty()) << "nothing is committed yet";
  run_.settle();
  add_last_events();
  EXPECT_EQ(delegate_.log, (Texts{"answer 0", "event 0", "ended 0 checkpoint_000000", "answer 2",
                                  "event 1", "event 2", "ended 2 checkpoint_000002"}));
  EXPECT_FALSE(commits_->first_under_way());
  EXPECT_TRUE(commits_->has_new_checkpoint());
  const std::string path = delegate_.answers[0].path;
  EXPECT_TRUE(fs::exists(path + "/0.txt") && fs::exists(path + "/1.txt")) << "both ranks' files";
}

TEST_F(ReportCommitsTest, TheRowsOfAReportAreWrittenBeforeItsCheckpoint) {
  open();
  writer_->add(Report{1, 0, 0, 5, Map{{"loss", 1}}});
  EXPECT_EQ(run_.cell("SELECT count(*) FROM reports"), "0") << "it is gathered";
  commits_->complete(with_checkpoint(0));
  run_.io->call([this](RunRecord&) { return run_.cell("SELECT count(*) FROM reports"); },
                [this](const std::optional<std::string>& rows, const auto&) {
                  delegate_.log.push_back(cat("rows ", *rows));
                });
  run_.settle();
  EXPECT_EQ(delegate_.log.back(), "rows 1");
}

TEST_F(ReportCommitsTest, WhereARankCouldNotUploadNothingIsCommitted) {
  open();
  auto reports = with_checkpoint(0);
  reports[1].upload = Upload::kFailed;
  reports[1].has_checkpoint = false;
  reports[1].error = Error(Code::kEnvironment, "no space left");
  commits_->complete(reports);
  run_.settle();
  ASSERT_EQ(delegate_.answers.size(), 1U);
  ASSERT_TRUE(delegate_.answers[0].error);
  const std::string& text = delegate_.answers[0].error->message();
  EXPECT_NE(text.find("rank 1 could not upload"), std::string::npos) << text;
  EXPECT_NE(text.find("no space left"), std::string::npos) << text;
  EXPECT_EQ(run_.cell("SELECT count(*) FROM checkpoints"), "0");
  EXPECT_FALSE(commits_->has_new_checkpoint());
  EXPECT_EQ(run_.take_events("report").size(), 1U) << "the metrics count";
}

TEST_F(ReportCommitsTest, ACommitThatFailsIsTheRanksErrorAndTheNextOneMayGoWell) {
  open();
  auto reports = with_checkpoint(0);
  fs::remove_all(run_.record->run_path() + "/staging");
  commits_->complete(reports);
  run_.settle();
  ASSERT_EQ(delegate_.answers.size(), 1U);
  EXPECT_TRUE(delegate_.answers[0].error);
  EXPECT_EQ(delegate_.log, (Texts{"answer 0", "event 0", "ended 0"}));
  EXPECT_FALSE(commits_->has_new_checkpoint());
  EXPECT_FALSE(commits_->first_under_way());
  commits_->complete(with_checkpoint(1));
  run_.settle();
  EXPECT_EQ(delegate_.log.back(), "ended 1 checkpoint_000001");
}

TEST_F(ReportCommitsTest, WhatRetentionDropsGoesAfterTheNewCheckpointIsAnswered) {
  run_.spec.checkpoint_config = Map{{"num_to_keep", 1}};
  open();
  commits_->complete(with_checkpoint(0));
  run_.settle();
  const std::string first = delegate_.answers[0].path;
  commits_->complete(with_checkpoint(1));
  run_.run_until([&] { return delegate_.answers.size() > 1; });
  run_.settle();
  EXPECT_FALSE(fs::exists(first));
  EXPECT_TRUE(fs::exists(delegate_.answers[1].path));
  EXPECT_TRUE(run_.write_errors.empty());
}

TEST_F(ReportCommitsTest, AnAttemptBeginsWithTheMetricsOfItsCheckpoint) {
  open();
  commits_->complete(with_checkpoint(0));
  run_.settle();
  commits_->begin_attempt(2, Map{{"loss", 7}});
  EXPECT_FALSE(commits_->has_new_checkpoint()) << "of this attempt";
  EXPECT_EQ(commits_->metrics()["loss"].as_int(), 7);
  EXPECT_EQ(commits_->num_reports(), 1) << "of all attempts";
}

}  // namespace
}  // namespace rtrain::train
