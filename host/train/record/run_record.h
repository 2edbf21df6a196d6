// host/train/record/run_record.h: everything of a run that goes to the disk: rows, checkpoints,
// logs.
//
// Belongs to the io thread. What may pass is waited for (host/store/files/patience.h). Errors are
// those of host/store; the controller ends the run on them, but for a checkpoint that cannot be
// committed, which is the ranks' error.
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

namespace rtrain {

class RunRecord {
 public:
  // Begins the run or takes it over; then rows and directories are made to agree. Errors as
  // RunStore::open.
  explicit RunRecord(const RunSpec& spec);

  const std::string& run_id() const { return store_->run_id(); }
  const std::string& run_path() const { return store_->run_path(); }
  // Of a run that was taken over: its last attempt, what is spent of its retry budgets, and one
  // line for people.
  int64_t last_attempt() const { return store_->last_attempt(); }
  const Value& failures() const { return store_->failures(); }
  const std::string& notice() const { return store_->notice(); }
  // Called, on this thread, with lines for people: that the store is waited for, that its file was
  // written again.
  void set_on_warning(std::function<void(const std::string& text)> on_warning);
  void set_failures(const Value& failures) { store_->set_failures(failures); }

  struct AttemptStart {
    std::string nonce;
    int64_t first_index = 0;                   // the number of its first report
    std::optional<CheckpointInfo> checkpoint;  // what it starts from
    std::string carried = {};                  // the folder of a commit that it starts from
    std::vector<std::string> notices;
    // Nothing has begun: this one is to be fetched or given up before (CheckpointManager::Start).
    std::optional<CheckpointInfo> wanted;
  };
  // The row is on the disk when this returns. Starts from the latest checkpoint whose files are all
  // there.
  AttemptStart begin_attempt(int64_t attempt, int num_workers, bool can_fetch = false);
  // The same of one that replaces lost workers while the others continue: its first report has that
  // number.
  AttemptStart begin_healed(int64_t attempt, int num_workers, int64_t first_index);
  void set_heal(int64_t attempt, double seconds) { store_->set_heal(attempt, seconds); }
  void set_workers(int64_t attempt, std::span<const WorkerRow> workers);
  // Also removes what the attempt left in staging. Call it when all its workers are gone, or wait
  // for the next one.
  void end_attempt(int64_t attempt, std::string_view status, const Value& error);

  // Returns when the next call should come.
  BatchPace add_reports(std::span<const Report> reports);
  void add_series(std::span<const SeriesChunk> chunks) {
    rtrain::add_series(store_->claim(), chunks);
  }
  void add_annotations(std::span<const AnnotationRow> rows) {
    rtrain::add_annotations(store_->claim(), rows);
  }
  void add_media(std::span<const MediaRow> rows) { rtrain::add_media(store_->claim(), rows); }
  void set_node(const NodeRow& row) { rtrain::set_node(store_->claim(), row); }
  void set_evicted(int64_t node, const std::string& host, const std::string& reason) {
    rtrain::set_evicted(store_->claim(), node, host, reason);
  }
  // As RunStore has them.
  int64_t add_late_reports(std::span<const Report> reports) {
    return store_->add_late_reports(reports);
  }
  void sync_reports() { store_->sync_reports(); }

  // Commits the checkpoint that the ranks staged for one report of the current attempt.
  CheckpointManager::Committed commit(int64_t attempt, const std::vector<Report>& reports);
  CheckpointManager& checkpoints() { return *checkpoints_; }

  // To logs/attempt-N/<log>.log.
  void append_log(int64_t attempt, const std::string& log, std::string_view bytes, int64_t time_ms);
  void set_status(std::string_view status) { store_->set_status(status); }
  void add_event(int64_t attempt, std::string_view level, std::string_view text) {
    store_->add_event(attempt, level, text);
  }

  // Where the store cannot be written the end is kept next to it, and the error is thrown.
  void end_run(std::string_view status, const Value& error, const Value& return_value);

 private:
  void begin(int64_t attempt, int num_workers, AttemptStart& start);
  void keep_end(std::string_view status, const Value& error, const Error& failure);
  void take_objects();
  void put_rows();
  void try_put_rows();
  std::unique_ptr<RunStore> store_;
  std::optional<ObjectStorage> objects_;  // the run's, where its storage is an object store
  ObjectOwner owner_;                     // this controller, there
  std::optional<CheckpointManager> checkpoints_;
  int64_t log_bytes_;
  std::string nonce_;                    // of the current attempt
  std::map<std::string, LogFile> logs_;  // by path
  std::function<void(const std::string&)> on_warning_ = [](const std::string&) {};
  std::vector<std::string> notices_;  // of the sweep, for the first attempt
};

}  // namespace rtrain
