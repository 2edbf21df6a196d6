// host/store/checkpoints/checkpoint_table.h: the rows of a run's checkpoints: which are kept, best,
// waiting for validation, and copied to storage_filesystem.
//
// Owned by the RunStore whose claim it writes with, and used on its thread. Invariants: 1 a row is
// inserted after its directory is in place. 2 Rows and retention change in one fully durable
// transaction, and a directory is dropped only after that. 3 Retention considers all checkpoints of
// the run, whichever attempt or controller made them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/codec/reported_checkpoint.h"
#include "host/base/codec/validation_request.h"
#include "host/base/value.h"
#include "host/decide/checkpoints/retention.h"
#include "host/decide/checkpoints/sweep_verdict.h"
#include "host/store/checkpoints/manifest.h"
#include "host/store/checkpoints/object_checkpoints.h"
#include "host/store/claim/run_claim.h"

namespace rtrain::store {

class CheckpointFiles;
class FencedWrite;

// `path` is not a column: it follows from the name.
struct CheckpointRow : ReportedCheckpoint {
  int64_t attempt = 0;
  int64_t size_bytes = 0;
  int64_t created_at_ms = 0;
  std::optional<ValidationRequest> validation = {};  // if one was requested
  bool mirrored = false;                             // storage_filesystem holds a copy
};

// The result of a validation.
struct ValidationResult {
  CheckpointStatus status = CheckpointStatus::kValidated;
  Value metrics;        // for kValidated: overwrites equal keys
  std::string problem;  // for the other statuses
};

class CheckpointTable {
 public:
  CheckpointTable(RunClaim& claim, decide::RetentionPolicy policy);

  const decide::RetentionPolicy& policy() const { return policy_; }

  // The row of a checkpoint that was committed under that name; not inserted.
  CheckpointRow row_of(const std::string& name, const Manifest& manifest) const;
  // Call it after the files were committed. Returns the names whose directories must be dropped
  // now.
  std::vector<std::string> add(const CheckpointRow& row);
  // Records that a kept checkpoint's directory is missing or damaged; `problem` says how.
  void set_missing(const std::string& name, std::string_view problem);
  // Ends a validation: ranks the checkpoint again and applies retention. Returns the names to drop,
  // as add() does; nullopt if the checkpoint does not wait for a validation. Throws kInternal if it
  // does not exist.
  std::optional<std::vector<std::string>> end_validation(const std::string& name, int64_t attempt,
                                                         const ValidationResult& result);
  // The kept checkpoints, in the order of their reports.
  std::vector<CheckpointRow> kept();

  void set_mirrored(const std::string& name, int64_t attempt, bool mirrored);
  // Dropped checkpoints that storage_filesystem still has, except names that are in use again.
  std::vector<CheckpointRow> mirrored_leftovers();

  // Makes rows and directories consistent after a crash: adopts complete directories without a row,
  // deletes those of dropped rows, sets aside those of kept rows whose manifest cannot be read,
  // marks kept rows without a directory as missing (except those that storage_filesystem has), and
  // clears staging. Returns one line for each finding.
  std::vector<std::string> sweep(CheckpointFiles& files);

 private:
  CheckpointRow row_of(const Statement& query) const;
  std::vector<CheckpointRow> read(std::string_view condition);
  void insert(const CheckpointRow& row);
  std::vector<std::string> apply_retention();
  std::optional<std::vector<std::string>> write_validation(FencedWrite& write,
                                                           const std::string& name, int64_t attempt,
                                                           const ValidationResult& result);
  static void try_fetch(const CheckpointFiles& files, const std::string& name,
                        std::vector<std::string>& findings);
  decide::SweepVerdict judge(const std::string& name, const std::optional<Manifest>& manifest,
                             const CheckpointRow* kept);
  std::string adopt(const std::string& name, const std::string& path, const Manifest& manifest);
  std::string set_aside(const CheckpointFiles& files, const CheckpointRow& row,
                        std::string_view problem);
  bool is_kept(const std::string& name, int64_t attempt);
  bool was_dropped(const std::string& name, int64_t attempt);
  bool was_left_behind(const Manifest& manifest);
  void add_report(const CheckpointRow& row);
  void sweep_stored(const CheckpointFiles& files,
                    const std::map<std::string, ObjectCheckpoints::Entry>& stored,
                    std::vector<std::string>& findings);

  RunClaim& claim_;
  decide::RetentionPolicy policy_;
};

}  // namespace rtrain::store
