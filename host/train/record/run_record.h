// host/train/record/run_record.h: everything that a run writes to the disk: rows, checkpoints,
// logs.
//
// Belongs to the io thread. Waits while an error may be temporary (host/store/files/patience.h).
// Errors are those of host/store. The controller ends the run on them, except if a checkpoint
// cannot be committed, which is an error of the ranks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/base/files/log_file.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/runs/annotation_store.h"
#include "host/store/runs/media_store.h"
#include "host/store/runs/node_store.h"
#include "host/store/runs/run_store.h"
#include "host/store/series/series_store.h"
#include "host/train/record/checkpoint_manager.h"
#include "host/train/run/run_spec.h"

namespace rtrain::train {

// One method for each thing that a run records.
class RunRecord {
 public:
  // Begins the run or takes it over, and makes rows and directories consistent. Throws like
  // RunStore::open.
  explicit RunRecord(const RunSpec& spec);

  const std::string& run_id() const { return store_->run_id(); }
  const std::string& run_path() const { return store_->run_path(); }
  // For a run that was taken over: its last attempt, the used part of its retry budgets, and a
  // message for users.
  int64_t last_attempt() const { return store_->last_attempt(); }
  const Value& failures() const { return store_->failures(); }
  const std::string& notice() const { return store_->notice(); }
  // Called on this thread with messages for users: the store is being waited for, or its file was
  // rewritten.
  void set_on_warning(std::function<void(const std::string& text)> on_warning);
  void set_failures(const Value& failures) { store_->set_failures(failures); }

  struct AttemptStart {
    std::string nonce;
    int64_t first_index = 0;                         // the number of its first report
    std::optional<store::CheckpointRow> checkpoint;  // what it starts from
    std::string carried = {};                        // the folder of a commit that it starts from
    std::vector<std::string> notices;
    // If set, nothing has begun: this checkpoint must be fetched or given up first
    // (CheckpointManager::Start).
    std::optional<store::CheckpointRow> wanted;
  };
  // The attempt's row is on the disk when this returns. Starts from the latest checkpoint whose
  // files are complete.
  AttemptStart begin_attempt(int64_t attempt, int num_workers, bool can_fetch = false);
  // The same for an attempt that replaces lost workers while the others continue. `first_index`:
  // the number of its first report.
  AttemptStart begin_healed(int64_t attempt, int num_workers, int64_t first_index);
  void set_heal(int64_t attempt, double seconds) { store_->set_heal(attempt, seconds); }
  void set_workers(int64_t attempt, std::span<const store::WorkerRow> workers);
  // Also removes the attempt's files in staging. Call it when all its workers have ended, or wait
  // for the next attempt.
  void end_attempt(int64_t attempt, std::string_view status, const Value& error);

  // Returns when to call it next.
  store::BatchPace add_reports(std::span<const Report> reports);
  void add_series(std::span<const store::SeriesChunk> chunks) {
    rtrain::store::add_series(store_->claim(), chunks);
  }
  void add_annotations(std::span<const store::AnnotationRow> rows) {
    rtrain::store::add_annotations(store_->claim(), rows);
  }
  void add_media(std::span<const store::MediaRow> rows) {
    rtrain::store::add_media(store_->claim(), rows);
  }
  void set_node(const store::NodeRow& row) { rtrain::store::set_node(store_->claim(), row); }
  void set_evicted(int64_t node, const std::string& name, const std::string& reason) {
    rtrain::store::set_evicted(store_->claim(), node, name, reason);
  }
  // As in RunStore.
  int64_t add_late_reports(std::span<const Report> reports) {
    return store_->add_late_reports(reports);
  }
  void sync_reports() { store_->sync_reports(); }

  // Commits the checkpoint that the ranks staged for one report of the current attempt.
  CheckpointManager::Committed commit(int64_t attempt, const std::vector<Report>& reports);
  CheckpointManager& checkpoints() { return *checkpoints_; }

  // Appends to logs/attempt-N/<log>.log.
  void append_log(int64_t attempt, const std::string& log, std::string_view bytes, int64_t time_ms);
  void set_status(std::string_view status) { store_->set_status(status); }
  void add_event(int64_t attempt, std::string_view level, std::string_view text) {
    store_->add_event(attempt, level, text);
  }

  // If the store cannot be written, stores the end next to it and throws the error.
  void end_run(std::string_view status, const Value& error, const Value& return_value);

 private:
  void begin(int64_t attempt, int num_workers, AttemptStart& start);
  void keep_end(std::string_view status, const Value& error, const Error& failure);
  void take_objects();
  void put_rows();
  void try_put_rows();
  std::unique_ptr<store::RunStore> store_;
  std::optional<store::ObjectStorage> objects_;  // if the run's storage is an object store
  store::ObjectOwner owner_;                     // this controller, as owner in the object store
  std::optional<CheckpointManager> checkpoints_;
  int64_t log_bytes_;
  std::string nonce_;                    // of the current attempt
  std::map<std::string, LogFile> logs_;  // by path
  std::function<void(const std::string&)> on_warning_ = [](const std::string&) {};
  std::vector<std::string> notices_;  // from the sweep, for the first attempt
};

}  // namespace rtrain::train
