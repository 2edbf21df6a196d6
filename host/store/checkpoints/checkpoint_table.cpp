#include "host/store/checkpoints/checkpoint_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "host/base/codec/json.h"
#include "host/base/fault.h"
#include "host/base/text/text.h"
#include "host/decide/checkpoints/sweep_verdict.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/claim/fenced_write.h"
#include "host/store/db/row_values.h"
#include "host/store/db/stored_metrics.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

constexpr std::string_view kMarkMissing =
    "UPDATE checkpoints SET state = 'missing', problem = ? WHERE run_id = ? AND name = ? AND "
    "state = 'kept'";

CheckpointStatus status_of(std::string_view name) {
  constexpr auto& kNames = kNamesOf<CheckpointStatus>;
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return CheckpointStatus::kCommitted;  // of a later version
  return static_cast<CheckpointStatus>(found - kNames.begin());
}

std::optional<std::string> validation_json(const std::optional<ValidationRequest>& validation) {
  if (!validation) return std::nullopt;
  return to_json(rtrain::to_value(*validation));
}

Value merged(const Value& metrics, const Value& validated) {
  Map out = or_empty_map(metrics).as_map();
  if (!validated.is_map()) return out;
  for (const auto& [key, value] : validated.as_map()) out.set(key, value);
  return out;
}

}  // namespace

CheckpointTable::CheckpointTable(RunClaim& claim, decide::RetentionPolicy policy)
    : claim_(claim), policy_(std::move(policy)) {}

CheckpointRow CheckpointTable::row_of(const std::string& name, const Manifest& manifest) const {
  CheckpointRow row;
  row.path = checkpoint_path(claim_.run_path, name);
  row.name = name;
  row.metrics = manifest.metrics;
  row.index = manifest.index;
  row.attempt = manifest.attempt;
  row.size_bytes = manifest.size_bytes();
  row.created_at_ms = manifest.created_at_ms;
  row.validation = manifest.validation;
  if (row.validation) row.status = CheckpointStatus::kPendingValidation;
  return row;
}

CheckpointRow CheckpointTable::row_of(const Statement& query) const {
  CheckpointRow row;
  row.name = entry_name(query, 0);
  row.path = checkpoint_path(claim_.run_path, row.name);
  row.attempt = query.integer(1);
  row.index = query.integer(2);
  row.metrics = load_metrics(query.text(3), query.text(4));
  row.size_bytes = query.integer(5);
  row.created_at_ms = query.integer(6);
  row.status = status_of(query.text(7));
  if (!query.is_null(8)) row.validation = from_value<ValidationRequest>(from_json(query.text(8)));
  row.mirrored = query.integer(9) != 0;
  return row;
}

void CheckpointTable::insert(const CheckpointRow& row) {
  const StoredMetrics stored = store_metrics(or_empty_map(row.metrics));
  claim_.database.run(
      "UPDATE checkpoints SET state = 'superseded' WHERE run_id = ? AND name = ? AND "
      "state IN ('kept', 'missing')",
      claim_.run_id, row.name);
  claim_.database.run(
      "INSERT INTO checkpoints(run_id, name, attempt, idx, metrics, nonfinite, size_bytes, "
      "created_at, state, status, validation) VALUES(?, ?, ?, ?, ?, ?, ?, ?, 'kept', ?, ?)",
      claim_.run_id, row.name, row.attempt, row.index, stored.json, stored.nonfinite,
      row.size_bytes, row.created_at_ms, status_name(row.status), validation_json(row.validation));
}

std::vector<CheckpointRow> CheckpointTable::read(std::string_view condition) {
  Statement query = claim_.database.prepare(
      cat("SELECT name, attempt, idx, metrics, nonfinite, size_bytes, created_at, status, "
          "validation, mirrored FROM checkpoints WHERE run_id = ? AND ",
          condition, " ORDER BY idx, attempt, checkpoint_id"));
  query.add(claim_.run_id);
  std::vector<CheckpointRow> rows;
  while (query.next()) rows.push_back(row_of(query));
  return rows;
}

std::vector<CheckpointRow> CheckpointTable::kept() { return read("state = 'kept'"); }

std::vector<std::string> CheckpointTable::apply_retention() {
  if (!policy_.num_to_keep) return {};  // avoids reading all rows at each commit
  const std::vector<CheckpointRow> rows = kept();
  std::vector<Value> metrics;
  std::set<size_t> pending;
  for (const CheckpointRow& row : rows) {
    if (row.status == CheckpointStatus::kPendingValidation) pending.insert(metrics.size());
    metrics.push_back(row.metrics);
  }
  std::vector<std::string> dropped;
  for (const size_t position : decide::checkpoints_to_drop(policy_, metrics, pending)) {
    dropped.push_back(rows[position].name);
    claim_.database.run(
        "UPDATE checkpoints SET state = 'dropped' WHERE run_id = ? AND name = ? AND state = 'kept'",
        claim_.run_id, rows[position].name);
  }
  return dropped;
}

std::vector<std::string> CheckpointTable::add(const CheckpointRow& row) {
  std::vector<std::string> dropped;
  write_fenced(claim_, Durability::kFull, [&](FencedWrite&) {
    insert(row);
    dropped = apply_retention();
  });
  return dropped;
}

void CheckpointTable::set_missing(const std::string& name, std::string_view problem) {
  write_fenced(claim_, Durability::kFull,
               [&](FencedWrite& write) { write.run(kMarkMissing, problem, claim_.run_id, name); });
}

// Returns nullopt if the checkpoint does not wait for a validation.
std::optional<std::vector<std::string>> CheckpointTable::write_validation(
    FencedWrite& write, const std::string& name, int64_t attempt, const ValidationResult& result) {
  Statement query = write.prepare(
      "SELECT status, metrics, nonfinite FROM checkpoints WHERE run_id = ? AND name = ? AND "
      "attempt = ? ORDER BY checkpoint_id DESC");
  if (!query.add(claim_.run_id).add(name).add(attempt).next()) {
    throw Error(Code::kInternal, cat("a validation of the checkpoint ", name, " of attempt ",
                                     attempt, " has ended, but the run has no such checkpoint"));
  }
  if (query.text(0) != status_name(CheckpointStatus::kPendingValidation)) return std::nullopt;
  const StoredMetrics stored =
      store_metrics(merged(load_metrics(query.text(1), query.text(2)), result.metrics));
  query.reset();
  std::optional<std::string> problem;
  if (!result.problem.empty()) problem = result.problem;
  write.run(
      "UPDATE checkpoints SET status = ?, metrics = ?, nonfinite = ?, problem = ? WHERE run_id = ? "
      "AND name = ? AND attempt = ? AND status = 'PENDING_VALIDATION'",
      status_name(result.status), stored.json, stored.nonfinite, problem, claim_.run_id, name,
      attempt);
  return apply_retention();
}

std::optional<std::vector<std::string>> CheckpointTable::end_validation(
    const std::string& name, int64_t attempt, const ValidationResult& result) {
  std::optional<std::vector<std::string>> dropped;
  write_fenced(claim_, Durability::kFull, [&](FencedWrite& write) {
    dropped = write_validation(write, name, attempt, result);
  });
  return dropped;
}

void CheckpointTable::set_mirrored(const std::string& name, int64_t attempt, bool mirrored) {
  write_fenced(claim_, Durability::kFull, [&](FencedWrite& write) {
    write.run("UPDATE checkpoints SET mirrored = ? WHERE run_id = ? AND name = ? AND attempt = ?",
              mirrored ? 1 : 0, claim_.run_id, name, attempt);
  });
}

std::vector<CheckpointRow> CheckpointTable::mirrored_leftovers() {
  return read(
      "mirrored = 1 AND state IN ('dropped', 'superseded') AND name NOT IN (SELECT name FROM "
      "checkpoints AS again WHERE again.run_id = checkpoints.run_id AND again.state = 'kept')");
}

bool CheckpointTable::is_kept(const std::string& name, int64_t attempt) {
  Statement query = claim_.database.prepare(
      "SELECT 1 FROM checkpoints WHERE run_id = ? AND name = ? AND attempt = ? AND state = 'kept'");
  return query.add(claim_.run_id).add(name).add(attempt).next();
}

bool CheckpointTable::was_dropped(const std::string& name, int64_t attempt) {
  Statement query = claim_.database.prepare(
      "SELECT 1 FROM checkpoints WHERE run_id = ? AND name = ? AND attempt = ? AND "
      "state IN ('dropped', 'superseded')");
  return query.add(claim_.run_id).add(name).add(attempt).next();
}

// Whether a later attempt began from an earlier checkpoint: then a controller committed this one
// after it had lost the run.
bool CheckpointTable::was_left_behind(const Manifest& manifest) {
  Statement query = claim_.database.prepare(
      "SELECT 1 FROM attempts WHERE run_id = ? AND attempt > ? AND coalesce(resumed_index, -1) < "
      "?");
  return query.add(claim_.run_id).add(manifest.attempt).add(manifest.index).next();
}

// The object store's rows may be older than the report of this checkpoint, so it is inserted here.
void CheckpointTable::add_report(const CheckpointRow& row) {
  const StoredMetrics stored = store_metrics(or_empty_map(row.metrics));
  claim_.database.run(
      "INSERT OR IGNORE INTO reports(run_id, attempt, idx, rank, time, metrics, nonfinite) SELECT "
      "run_id, attempt, ?, 0, ?, ?, ? FROM attempts WHERE run_id = ? AND attempt = ?",
      row.index, row.created_at_ms, stored.json, stored.nonfinite, claim_.run_id, row.attempt);
}

decide::SweepVerdict CheckpointTable::judge(const std::string& name,
                                            const std::optional<Manifest>& manifest,
                                            const CheckpointRow* kept) {
  decide::FoundRows rows;
  if (kept != nullptr) rows.kept_attempt = kept->attempt;
  if (!manifest) return decide::judge_folder(std::nullopt, rows);
  const bool is_own = manifest->run_id == claim_.run_id;
  rows.was_dropped = was_dropped(name, manifest->attempt);
  rows.was_left_behind = was_left_behind(*manifest);
  return decide::judge_folder(
      decide::FoundManifest{is_own && manifest->owner_epoch <= claim_.owner_epoch,
                            manifest->attempt},
      rows);
}

// Adopts a directory whose row was not written because of a crash.
std::string CheckpointTable::adopt(const std::string& name, const std::string& path,
                                   const Manifest& manifest) {
  try {
    verify_files(path, manifest, true);
    fault_point("sweep.adopt");
    const CheckpointRow row = row_of(name, manifest);
    insert(row);
    add_report(row);
    return cat("adopted the checkpoint ", name, ", committed as its controller ended");
  } catch (const Error& e) {
    if (e.code() != Code::kCheckpoint) throw;
    return cat("left alone ", path, ": ", e.message());
  }
}

// For a checkpoint with a kept row whose directory cannot be read. Frees the name for a new
// checkpoint; storage_filesystem may restore the old one.
std::string CheckpointTable::set_aside(const CheckpointFiles& files, const CheckpointRow& row,
                                       std::string_view problem) {
  const std::string target = files.set_aside(row.name);
  if (!row.mirrored) claim_.database.run(kMarkMissing, problem, claim_.run_id, row.name);
  return cat("the checkpoint ", row.name, " cannot be used: ", problem, "; moved to ", target);
}

void CheckpointTable::try_fetch(const CheckpointFiles& files, const std::string& name,
                                std::vector<std::string>& findings) {
  try {
    files.fetch(name);
  } catch (const Error& e) {
    if (e.code() != Code::kCheckpoint) throw;
    findings.push_back(
        cat("the checkpoint ", name, " of the object store cannot be used: ", e.message()));
  }
}

// Handles checkpoints of the object store without a kept row. Removes dropped ones and fetches the
// others, whose controller ended before it put the row into the store: sweep() then examines them.
void CheckpointTable::sweep_stored(const CheckpointFiles& files,
                                   const std::map<std::string, ObjectCheckpoints::Entry>& stored,
                                   std::vector<std::string>& findings) {
  for (const auto& [name, entry] : stored) {
    if (entry.epoch > claim_.owner_epoch || is_kept(name, entry.attempt)) continue;
    if (was_dropped(name, entry.attempt)) {
      files.drop_stored(name);
      findings.push_back(cat("deleted the dropped checkpoint ", name, " of the object store"));
    } else {
      try_fetch(files, name, findings);
    }
  }
}

std::vector<std::string> CheckpointTable::sweep(CheckpointFiles& files) {
  fault_point("sweep.begin");
  std::vector<std::string> findings;
  std::vector<std::string> drop_here;  // the object store may have another one of that name
  std::vector<std::string> drop_stored;
  const auto stored = files.stored();
  const auto is_stored = [&stored](const CheckpointRow& row) {
    const auto found = stored.find(row.name);
    return found != stored.end() && found->second.attempt == row.attempt;
  };
  sweep_stored(files, stored, findings);
  FencedWrite write(claim_, Durability::kFull);
  std::map<std::string, CheckpointRow> rows;
  for (const CheckpointRow& row : kept()) rows.emplace(row.name, row);
  for (const std::string& name : files.committed_names()) {
    const std::string path = files.checkpoint_path(name);
    const auto found = rows.find(name);
    const CheckpointRow* row = found == rows.end() ? nullptr : &found->second;
    std::string problem;
    const std::optional<Manifest> manifest = Manifest::try_read(path, problem);
    const auto drop = [&](const std::string& finding) {
      const auto there = stored.find(name);
      if (there != stored.end() && there->second.is_of(*manifest)) drop_stored.push_back(name);
      drop_here.push_back(name);
      findings.push_back(finding);
    };
    switch (judge(name, manifest, row)) {
      case decide::SweepVerdict::kKnown:
        break;
      case decide::SweepVerdict::kDamaged:
        if (manifest) problem = "it belongs to another run";
        findings.push_back(set_aside(files, *row, problem));
        break;
      case decide::SweepVerdict::kUnknown:
        findings.push_back(cat("left alone ", path, ": ", problem));
        break;
      case decide::SweepVerdict::kForeign:
        findings.push_back(cat("left alone ", path, ": it belongs to another run"));
        break;
      case decide::SweepVerdict::kDropped:
        drop(cat("deleted the dropped checkpoint ", name));
        break;
      case decide::SweepVerdict::kLeftBehind:
        drop(cat("deleted the checkpoint ", name, " of attempt ", manifest->attempt,
                 ", which a later attempt did not start from"));
        break;
      case decide::SweepVerdict::kUnrecorded:
        findings.push_back(adopt(name, path, *manifest));
    }
  }
  for (const CheckpointRow& row : kept()) {
    if (row.mirrored || is_stored(row)) continue;
    if (path_exists(files.checkpoint_path(row.name))) continue;
    write.run(kMarkMissing, "its folder is gone", claim_.run_id, row.name);
    findings.push_back(cat("the checkpoint ", row.name, " is missing"));
  }
  const std::vector<std::string> drop = apply_retention();
  write.commit();
  fault_point("sweep.clear");
  for (const std::string& name : drop_stored) files.drop_stored(name);
  files.drop_copies(drop_here);
  files.drop(drop);
  for (const CheckpointRow& row : kept()) {
    if (!is_stored(row) && path_exists(files.checkpoint_path(row.name))) files.store(row.name);
  }
  files.clear_staging();
  return findings;
}

}  // namespace rtrain::store
