#include "host/train/record/run_record.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "host/base/clock.h"
#include "host/base/fault.h"
#include "host/base/random.h"
#include "host/base/secrets.h"
#include "host/base/text/text.h"
#include "host/decide/group_state.h"
#include "host/store/files/file.h"

namespace rtrain::train {
namespace {

store::NewRun new_run(const RunSpec& spec) {
  store::NewRun run;
  run.name = spec.name;
  run.storage_path = spec.storage_path;
  run.num_workers = spec.max_workers;
  run.script = spec.script;
  run.command = mask_secrets(spec.command);
  run.tags = spec.tags;
  run.note = spec.note;
  run.resume = spec.resume;
  run.config = mask_secrets(spec.train_loop_config);
  run.scaling = spec.scaling_config;
  run.checkpoint_config = spec.checkpoint_config;
  Map environment;
  if (spec.git) {
    environment.set("git_commit", spec.git->commit);
    environment.set("git_dirty", spec.git->is_dirty);
    if (spec.git->is_cut) environment.set("git_diff_cut", true);
  }
  if (spec.port > 0) environment.set("port", spec.port);
  run.environment = environment;
  run.sources = spec.sources;
  run.on_waiting = [](const std::string& text) {
    std::fprintf(stderr, "rtrain: %s\n", text.c_str());
  };
  return run;
}

}  // namespace

RunRecord::RunRecord(const RunSpec& spec)
    : store_(store::RunStore::open(new_run(spec))),
      objects_(store::ObjectStorage::of(spec.storage_path)),
      checkpoints_(std::in_place, *store_,
                   decide::RetentionPolicy::from_value(spec.checkpoint_config)),
      log_bytes_(spec.log_bytes) {
  take_objects();
  if (store_->resumed()) notices_ = checkpoints_->rows().sweep(checkpoints_->files());
}

// From here on, an earlier owner on another machine is refused.
void RunRecord::take_objects() {
  if (!objects_) return;
  owner_ = {store_->owner_epoch(), random_hex(16)};
  checkpoints_->files().set_owner(owner_);
  put_rows();
  objects_->check_owner(store_->name(), owner_);
}

void RunRecord::put_rows() {
  if (objects_) objects_->put_rows(store_->claim().database, store_->name(), owner_);
}

// A failure is harmless: the run's folder has the same rows.
void RunRecord::try_put_rows() {
  try {
    put_rows();
  } catch (const Error& e) {
    on_warning_(cat("the run's rows are not in the object store yet: ", e.message()));
  }
}

CheckpointManager::Committed RunRecord::commit(int64_t attempt,
                                               const std::vector<Report>& reports) {
  CheckpointManager::Committed out = checkpoints_->commit(attempt, nonce_, reports);
  try_put_rows();
  return out;
}

RunRecord::AttemptStart RunRecord::begin_attempt(int64_t attempt, int num_workers, bool can_fetch) {
  set_fault_attempt(static_cast<int>(attempt));
  fault_point("attempt.begin");
  AttemptStart out;
  CheckpointManager::Start start = checkpoints_->choose_start(can_fetch);
  out.notices = std::exchange(notices_, {});
  for (std::string& notice : start.notices) out.notices.push_back(std::move(notice));
  out.wanted = std::move(start.wanted);
  if (out.wanted) return out;
  out.checkpoint = std::move(start.checkpoint);
  if (out.checkpoint) out.first_index = out.checkpoint->index + 1;
  begin(attempt, num_workers, out);
  return out;
}

RunRecord::AttemptStart RunRecord::begin_healed(int64_t attempt, int num_workers,
                                                int64_t first_index) {
  set_fault_attempt(static_cast<int>(attempt));
  fault_point("attempt.heal");
  AttemptStart out;
  out.first_index = first_index;
  begin(attempt, num_workers, out);
  return out;
}

void RunRecord::begin(int64_t attempt, int num_workers, AttemptStart& start) {
  std::optional<int64_t> resumed;
  if (start.first_index > 0) resumed = start.first_index - 1;
  start.nonce = nonce_ = store_->begin_attempt(attempt, num_workers, resumed);
  put_rows();  // a later controller counts this attempt
  store_->claim().patience(
      [&] { store::ensure_folder(cat(run_path(), "/logs/attempt-", attempt)); });
}

void RunRecord::set_workers(int64_t attempt, std::span<const store::WorkerRow> workers) {
  store_->set_workers(attempt, workers);
}

void RunRecord::end_attempt(int64_t attempt, std::string_view status, const Value& error) {
  fault_point("attempt.end");
  logs_.clear();
  // The attempt's own readers have ended. Done before the row is written, because on a full disk
  // the row needs the space.
  checkpoints_->drop({});
  checkpoints_->files().clear_attempt(attempt, nonce_);
  store_->end_attempt(attempt, status, error);
}

store::BatchPace RunRecord::add_reports(std::span<const Report> reports) {
  store_->add_reports(reports);
  return store_->batch_pace();
}

void RunRecord::append_log(int64_t attempt, const std::string& log, std::string_view bytes,
                           int64_t time_ms) {
  fault_point("log.write");
  const std::string path = cat(run_path(), "/logs/attempt-", attempt, "/", log, ".log");
  store_->claim().patience([&] {
    LogFile& file = logs_.try_emplace(path, path, log_bytes_).first->second;
    if (const int reason = file.write(bytes, time_ms); reason != 0)
      throw store::file_error("write", path, reason);
  });
}

void RunRecord::set_on_warning(std::function<void(const std::string& text)> on_warning) {
  on_warning_ = std::move(on_warning);
  store::RunClaim& claim = store_->claim();
  claim.patience.set_on_waiting([this](const Error& error) {
    on_warning_(cat("reports wait in memory (RTRAIN_STORE_PATIENCE_S): ", error.message()));
  });
  claim.database.set_on_locked(on_warning_);
  claim.on_restored = [this, path = claim.database.path()] {
    on_warning_(cat("the store ", path,
                    " was removed or replaced while the run was going on: it was written again "
                    "from the file that was still open"));
  };
}

void RunRecord::end_run(std::string_view status, const Value& error, const Value& return_value) {
  fault_point("run.end");
  try {
    store_->claim().check();  // staging may belong to another controller by now
    checkpoints_->drop({});
    checkpoints_->files().clear_staging();
    checkpoints_->files().leave_drops_to_readers();
    store_->end_run(status, error, return_value);
    try_put_rows();
  } catch (const Error& e) {
    keep_end(status, error, e);
    throw;
  }
}

void RunRecord::keep_end(std::string_view status, const Value& error, const Error& failure) {
  const bool was_well = error.is_nil();
  const decide::GroupError storage{.cause = failure, .kind = decide::FailureKind::kController};
  if (!store_->keep_end(was_well ? "ERRORED" : status,
                        was_well ? decide::to_value(storage) : error))
    return;
  const std::string& path = store_->claim().end.path();
  if (!store::path_exists(path)) return;  // it was moved with its folder
  on_warning_(
      cat("the run's end is kept in ", path,
          ": the next run of this storage enters it into the store, or `rtrain gc --rebuild`"));
}

}  // namespace rtrain::train
