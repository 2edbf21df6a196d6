// host/train/reports/report_commits.h: what happens once all ranks have made a report: the commit
// of its checkpoint, the answers to the ranks, and its event.
//
// Belongs to the control thread; commits run on the io thread. Events come in the order of report
// numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "host/base/value.h"
#include "host/decide/report_collector.h"
#include "host/loop/messages/to_worker.h"
#include "host/train/record/io_calls.h"
#include "host/train/record/run_events.h"
#include "host/train/reports/record_writer.h"

namespace rtrain::train {

class ReportCommitsDelegate {
 public:
  virtual ~ReportCommitsDelegate() = default;
  virtual void send_all(message::ToWorker message) = 0;
  // Called after the ranks' answers and the event of a report with a checkpoint. `checkpoint`: the
  // committed one, or null.
  virtual void on_commit_ended(int64_t index, const store::CheckpointRow* checkpoint) = 0;
};

class ReportCommits {
 public:
  ReportCommits(IoCalls& io, RecordWriter& writer, RunEvents& events,
                ReportCommitsDelegate& delegate)
      : io_(io), writer_(writer), events_(events), delegate_(delegate) {}

  // `metrics`: those of the checkpoint that the attempt starts from.
  void begin_attempt(int attempt, Value metrics);
  // Takes one report from every rank.
  void complete(std::vector<Report> reports);

  // The first report whose checkpoint is still being committed.
  std::optional<int64_t> first_under_way() const;
  // Whether the attempt has committed a checkpoint.
  bool has_new_checkpoint() const { return has_new_checkpoint_; }
  // Rank 0's metrics in the last complete report.
  const Value& metrics() const { return metrics_; }
  // Number of complete reports in all attempts.
  int64_t num_reports() const { return num_reports_; }

 private:
  void commit(std::vector<Report> reports);
  void end(const std::vector<Report>& reports, const CheckpointManager::Committed* committed,
           const std::optional<Error>& error);
  void answer_failed(const Report& failed);
  void emit(const std::vector<Report>& reports, const Value& path);

  IoCalls& io_;
  RecordWriter& writer_;
  RunEvents& events_;
  ReportCommitsDelegate& delegate_;
  int attempt_ = 0;
  std::multiset<int64_t> under_way_;  // reports whose checkpoints are being committed
  bool has_new_checkpoint_ = false;
  Value metrics_;
  int64_t num_reports_ = 0;
};

}  // namespace rtrain::train
