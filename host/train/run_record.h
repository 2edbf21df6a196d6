// host/train/run_record.h: everything of a run that goes to the disk: rows, checkpoints, logs.
//
// Belongs to the io thread. Errors are those of host/store; the controller ends the run on them,
// but for a checkpoint that cannot be committed, which is the ranks' error.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/store/checkpoint_files.h"
#include "host/store/run_store.h"
#include "host/train/report_handler.h"
#include "host/train/run_spec.h"

namespace rtrain {

// A committed checkpoint as result, events and workers see it: {path, name, metrics, index}.
struct CheckpointInfo {
  std::string path;
  std::string name;
  Value metrics;
  int64_t index = 0;

  Value to_value() const;
};

class RunRecord {
 public:
  // Takes the name and makes the run's row. Errors as RunStore::create.
  explicit RunRecord(const RunSpec& spec);

  const std::string& run_id() const { return store_->run_id(); }
  const std::string& run_path() const { return store_->run_path(); }

  struct Attempt {
    std::string nonce;
    int64_t first_index = 0;                   // the number of its first report
    std::optional<CheckpointInfo> checkpoint;  // what it starts from
    std::vector<std::string> notices;
  };
  // The row is on the disk when this returns. Starts from the latest checkpoint whose files are all
  // there.
  Attempt begin_attempt(int64_t attempt);
  void set_workers(int64_t attempt, std::span<const WorkerRow> workers);
  // Also removes what the attempt left in staging. Call it when all its workers are gone.
  void end_attempt(int64_t attempt, std::string_view status, const Value& error);

  // Returns how long to gather reports before the next call, in seconds.
  double add_reports(std::span<const ReportRow> reports);
  void sync_reports() { store_->sync_reports(); }

  struct Committed {
    CheckpointInfo checkpoint;
    std::vector<std::string> dropped;  // names whose directories are to go: drop() them
    std::vector<std::string> warnings;
  };
  // Commits the checkpoint that the ranks staged for one report.
  Committed commit(int64_t attempt, const std::vector<Report>& reports);
  void drop(std::span<const std::string> names) { files_->drop(names); }

  void append_log(int64_t attempt, int rank, std::string_view bytes);
  void set_status(std::string_view status) { store_->set_status(status); }
  void add_event(int64_t attempt, std::string_view level, std::string_view text) {
    store_->add_event(attempt, level, text);
  }

  // The kept checkpoints, the best first, and the latest.
  struct Checkpoints {
    std::vector<CheckpointInfo> best;
    std::optional<CheckpointInfo> latest;
  };
  Checkpoints checkpoints();
  void end_run(std::string_view status, const Value& error, const Value& return_value);

 private:
  CheckpointInfo info(const CheckpointRow& row) const;

  std::unique_ptr<RunStore> store_;
  std::optional<CheckpointFiles> files_;
  RetentionPolicy retention_;
  std::string run_name_;
  std::string nonce_;  // of the current attempt
  std::map<int, OpenFile> logs_;
};

}  // namespace rtrain
