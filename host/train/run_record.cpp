#include "host/train/run_record.h"

#include <fcntl.h>

#include <algorithm>

#include "host/base/clock.h"
#include "host/base/fault.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

NewRun new_run(const RunSpec& spec) {
  NewRun run;
  run.name = spec.name;
  run.storage_path = spec.storage_path;
  run.num_workers = spec.num_workers;
  run.script = spec.script;
  run.command = spec.command;
  run.tags = spec.tags;
  run.note = spec.note;
  run.config = spec.config;
  run.scaling = spec.scaling;
  run.checkpoint_config = spec.checkpoint_config;
  Map environment;
  if (!spec.git_commit.empty()) {
    environment.set("git_commit", spec.git_commit);
    environment.set("git_dirty", spec.git_dirty);
  }
  run.environment = environment;
  return run;
}

// The name wanted by the lowest rank that brought one: rank 0's where it has an opinion.
std::string checkpoint_name(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    if (report.has_checkpoint && !report.directory_name.empty()) return report.directory_name;
  }
  return CheckpointFiles::default_name(reports.front().index);
}

}  // namespace

Value CheckpointInfo::to_value() const {
  return Map{{"path", path}, {"name", name}, {"metrics", metrics}, {"index", index}};
}

RunRecord::RunRecord(const RunSpec& spec)
    : store_(RunStore::create(new_run(spec))),
      files_(store_->run_path()),
      retention_(RetentionPolicy::from_value(spec.checkpoint_config)),
      run_name_(spec.name) {}

RunRecord::Attempt RunRecord::begin_attempt(int64_t attempt) {
  set_fault_attempt(static_cast<int>(attempt));
  fault_point("attempt.begin");
  Attempt out;
  const auto kept = store_->kept_checkpoints();
  for (auto row = kept.rbegin(); row != kept.rend() && !out.checkpoint; ++row) {
    const CheckpointInfo candidate = info(*row);
    try {
      verify_files(candidate.path, Manifest::read(candidate.path), false);
      out.checkpoint = candidate;
    } catch (const Error& e) {
      if (e.code() != Code::kCheckpoint) throw;
      store_->set_checkpoint_missing(row->name);
      out.notices.push_back(cat("checkpoint ", candidate.path, " cannot be used: ", e.message()));
    }
  }
  std::optional<int64_t> resumed;
  if (out.checkpoint) resumed = out.checkpoint->index;
  out.nonce = nonce_ = store_->begin_attempt(attempt, resumed);
  out.first_index = resumed ? *resumed + 1 : 0;
  make_folders(cat(run_path(), "/logs/attempt-", attempt));
  return out;
}

void RunRecord::set_workers(int64_t attempt, std::span<const WorkerRow> workers) {
  store_->set_workers(attempt, workers);
}

void RunRecord::end_attempt(int64_t attempt, std::string_view status, const Value& error) {
  fault_point("attempt.end");
  logs_.clear();
  // Before the row: on a full disk the row needs the room.
  files_->clear_attempt(attempt, nonce_);
  store_->end_attempt(attempt, status, error);
}

double RunRecord::add_reports(std::span<const ReportRow> reports) {
  store_->add_reports(reports);
  return store_->batch_delay_s();
}

RunRecord::Committed RunRecord::commit(int64_t attempt, const std::vector<Report>& reports) {
  Manifest manifest;
  manifest.run = run_name_;
  manifest.run_id = run_id();
  manifest.attempt = attempt;
  manifest.owner_epoch = store_->owner_epoch();
  manifest.index = reports.front().index;
  manifest.name = checkpoint_name(reports);
  manifest.created_at_ms = now_ms();
  manifest.metrics = reports.front().metrics;
  std::vector<StagedRank> staged;
  for (const Report& report : reports) {
    if (report.has_checkpoint) staged.push_back(StagedRank::from_value(report.files));
  }
  const auto done = files_->commit({attempt, nonce_, manifest.index}, manifest, staged);
  Committed out;
  out.checkpoint = {done.path, done.manifest.name, done.manifest.metrics, done.manifest.index};
  out.warnings = done.warnings;
  fault_point("ckpt.row");
  out.dropped = store_->add_checkpoint(
      {done.manifest.name, attempt, done.manifest.index, done.manifest.metrics,
       done.manifest.size_bytes(), done.manifest.created_at_ms},
      retention_);
  return out;
}

void RunRecord::append_log(int64_t attempt, int rank, std::string_view bytes) {
  fault_point("log.write");
  auto found = logs_.find(rank);
  if (found == logs_.end()) {
    const std::string path = cat(run_path(), "/logs/attempt-", attempt, "/rank-", rank, ".log");
    found = logs_.emplace(rank, OpenFile(path, O_WRONLY | O_CREAT | O_APPEND)).first;
  }
  found->second.write(bytes);
}

RunRecord::Checkpoints RunRecord::checkpoints() {
  const auto rows = store_->kept_checkpoints();
  std::vector<Value> metrics;
  for (const CheckpointRow& row : rows) metrics.push_back(row.metrics);
  Checkpoints out;
  for (const size_t position : rank_checkpoints(retention_, metrics)) {
    out.best.push_back(info(rows[position]));
  }
  if (!rows.empty()) out.latest = info(rows.back());
  return out;
}

void RunRecord::end_run(std::string_view status, const Value& error, const Value& return_value) {
  fault_point("run.end");
  files_->clear_staging();
  store_->end_run(status, error, return_value);
}

CheckpointInfo RunRecord::info(const CheckpointRow& row) const {
  return {files_->checkpoint_path(row.name), row.name, row.metrics, row.index};
}

}  // namespace rtrain
