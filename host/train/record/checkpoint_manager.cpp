#include "host/train/record/checkpoint_manager.h"

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/fault.h"
#include "host/base/text/text.h"
#include "host/store/db/stored_metrics.h"
#include "host/store/files/file.h"

namespace rtrain::train {
namespace {

// The name requested by the lowest rank that requests one.
std::string checkpoint_name(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    if (!report.directory_name.empty()) return report.directory_name;
  }
  return store::CheckpointFiles::default_name(reports.front().index);
}

// The validation requested by the lowest rank that requests one.
std::optional<ValidationRequest> wanted_validation(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    if (report.validation) return report.validation;
  }
  return std::nullopt;
}

}  // namespace

CheckpointManager::CheckpointManager(store::RunStore& store, decide::RetentionPolicy policy)
    : store_(store),
      files_(store.run_path(), store.claim().patience),
      rows_(store.claim(), std::move(policy)) {}

void CheckpointManager::verify(const store::CheckpointRow& candidate) {
  const std::pair key(candidate.name, candidate.attempt);
  store::verify_files(candidate.path, store::Manifest::read(candidate.path),
                      !verified_.contains(key));
  verified_.insert(key);
}

// Why no attempt can start from the checkpoint. An object store that does not answer says nothing
// about it, so that error is thrown instead.
std::optional<std::string> CheckpointManager::problem_of(const store::CheckpointRow& candidate) {
  try {
    files_.fetch(candidate.name);
  } catch (const Error& e) {
    if (e.code() != Code::kCheckpoint) throw;
    return e.message();
  }
  try {
    verify(candidate);
  } catch (const Error& e) {
    // Treats a read error of the disk (EIO) like changed files.
    if (e.code() != Code::kCheckpoint && e.code() != Code::kEnvironment) throw;
    return e.message();
  }
  return std::nullopt;
}

CheckpointManager::Start CheckpointManager::choose_start(bool can_fetch) {
  Start out;
  const auto all = kept();
  for (auto each = all.rbegin(); each != all.rend() && !out.checkpoint; ++each) {
    const store::CheckpointRow& candidate = *each;
    if (can_fetch && candidate.mirrored && !store::path_exists(candidate.path)) {
      out.wanted = candidate;
      return out;
    }
    if (const auto problem = problem_of(candidate)) {
      out.notices.push_back(cat("checkpoint ", candidate.path, " cannot be used: ", *problem));
      rows_.set_missing(candidate.name, *problem);
    } else {
      out.checkpoint = candidate;
    }
  }
  return out;
}

std::string CheckpointManager::make_fetch_folder() const { return files_.make_tempdir(0, "fetch"); }

void CheckpointManager::restore(const store::CheckpointRow& wanted, const std::string& folder) {
  const store::Manifest manifest = store::CheckpointFiles::verify(folder);
  if (manifest.run_id != store_.run_id() || manifest.name != wanted.name ||
      manifest.attempt != wanted.attempt) {
    throw Error(Code::kCheckpoint, cat("storage_filesystem gave the checkpoint ", manifest.name,
                                       " of run ", manifest.run, " for ", wanted.name));
  }
  files_.put_back(folder, wanted.name);
  verified_.insert({wanted.name, wanted.attempt});
}

void CheckpointManager::give_up(const store::CheckpointRow& wanted, std::string_view problem) {
  rows_.set_missing(wanted.name, problem);
}

void CheckpointManager::set_damaged(const std::string& path, std::string_view problem) {
  for (const store::CheckpointRow& each : kept()) {
    if (each.path == path) rows_.set_missing(each.name, problem);
  }
}

CheckpointManager::Committed CheckpointManager::commit(int64_t attempt, const std::string& nonce,
                                                       const std::vector<Report>& reports) {
  decide::check_score(rows_.policy(), reports.front().metrics);
  // Checked before, because a rename cannot be fenced: a new owner would find a directory that it
  // does not know.
  store_.claim().check();
  store::Manifest manifest;
  manifest.run = store_.name();
  manifest.run_id = store_.run_id();
  manifest.attempt = attempt;
  manifest.owner_epoch = store_.owner_epoch();
  manifest.index = reports.front().index;
  manifest.name = checkpoint_name(reports);
  manifest.created_at_ms = now_ms();
  manifest.metrics = reports.front().metrics;
  manifest.validation = wanted_validation(reports);
  std::vector<StagedRank> staged;
  for (const Report& report : reports) {
    if (!report.has_checkpoint) continue;
    RT_CHECK(report.staged);
    staged.push_back(*report.staged);
  }
  const auto done = files_.commit({attempt, nonce, manifest.index}, manifest, staged);
  verified_.insert({done.manifest.name, attempt});
  const store::CheckpointRow row = rows_.row_of(done.manifest.name, done.manifest);
  Committed out{.checkpoint = row, .dropped = {}, .warnings = done.warnings};
  // If there is a validation, it may provide the score.
  const std::string missing = decide::missing_score(rows_.policy(), row.metrics);
  if (!missing.empty() && !row.validation) {
    out.warnings.push_back(cat("checkpoint ", row.name, ": ", missing));
  }
  fault_point("ckpt.row");
  out.dropped = rows_.add(row);
  return out;
}

CheckpointManager::Validated CheckpointManager::end_validation(
    const store::CheckpointRow& checkpoint, const store::ValidationResult& result) {
  Validated out{.result = result, .dropped = {}, .warnings = {}};
  const size_t bytes = encode(checkpoint.metrics).size() + encode(result.metrics).size();
  if (bytes > store::kMaxMetricsBytes) {
    out.result = {CheckpointStatus::kValidationFailed,
                  {},
                  cat("the metrics of its report and of the validation have ", bytes,
                      " bytes, the limit is ", store::kMaxMetricsBytes)};
  }
  auto dropped = rows_.end_validation(checkpoint.name, checkpoint.attempt, out.result);
  if (!dropped) {
    out.warnings.push_back(cat("checkpoint ", checkpoint.name,
                               " waits for no validation: the result of this one is left out"));
    return out;
  }
  out.dropped = std::move(*dropped);
  return out;
}

std::vector<store::CheckpointRow> CheckpointManager::unmirrored() {
  std::vector<store::CheckpointRow> out = kept();
  std::erase_if(out, [](const store::CheckpointRow& each) { return each.mirrored; });
  return out;
}

CheckpointManager::Ranked CheckpointManager::ranked() {
  const auto all = kept();
  std::vector<Value> metrics;
  for (const store::CheckpointRow& each : all) metrics.push_back(each.metrics);
  Ranked out;
  for (const size_t position : decide::rank_checkpoints(rows_.policy(), metrics)) {
    out.best.push_back(all[position]);
  }
  if (!all.empty()) out.latest = all.back();
  return out;
}

}  // namespace rtrain::train
