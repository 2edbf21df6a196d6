// host/store/checkpoints/checkpoint_store.h: the rows of a run's checkpoints: what is kept, what is
// best, what waits for its validation, what storage_filesystem holds.
//
// Belongs to the RunStore whose claim it writes through; on its thread. Invariants: 1 a row is
// inserted after its directory is in place; 2 rows and retention change in one fully durable
// transaction, and a directory is dropped only after that; 3 retention looks at all checkpoints of
// the run, whichever attempt or controller made them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/decide/checkpoints/retention.h"
#include "host/decide/checkpoints/sweep_verdict.h"
#include "host/store/checkpoints/checkpoint_status.h"
#include "host/store/checkpoints/manifest.h"
#include "host/store/checkpoints/object_checkpoints.h"
#include "host/store/claim/run_claim.h"

namespace rtrain {

class CheckpointFiles;
class FencedWrite;

struct CheckpointRow {
  std::string name;
  int64_t attempt = 0;
  int64_t index = 0;
  Value metrics;
  int64_t size_bytes = 0;
  int64_t created_at_ms = 0;
  CheckpointStatus status = CheckpointStatus::kCommitted;
  Value validation = {};  // {fn_kwargs, timeout_s} of a validation, nil for none
  bool mirrored = false;  // storage_filesystem holds a copy
};

// How a validation has ended.
struct ValidationResult {
  CheckpointStatus status = CheckpointStatus::kValidated;
  Value metrics;        // of kValidated: they overwrite equal keys
  std::string problem;  // of the others
};

class CheckpointStore {
 public:
  CheckpointStore(RunClaim& claim, RetentionPolicy policy);

  const RetentionPolicy& policy() const { return policy_; }

  // Call it after the commit of the files; returns the names whose directories are now to be
  // dropped.
  std::vector<std::string> add(const CheckpointRow& row);
  // A kept checkpoint whose directory is gone or damaged, and how.
  void set_missing(const std::string& name, std::string_view problem);
  // Ends a validation: the checkpoint has a new rank, and retention looks again. Returns the names
  // to drop, as add() does; nothing when that checkpoint waits for no validation. Throws kInternal
  // when there is no such checkpoint.
  std::optional<std::vector<std::string>> end_validation(const std::string& name, int64_t attempt,
                                                         const ValidationResult& result);
  // The kept ones in the order of their reports.
  std::vector<CheckpointRow> kept();

  void set_mirrored(const std::string& name, int64_t attempt, bool mirrored);
  // Dropped ones that storage_filesystem still holds, less names that are kept under it again.
  std::vector<CheckpointRow> mirrored_leftovers();

  // Makes rows and directories agree after a crash: adopts complete directories without a row,
  // deletes those of dropped rows, sets aside those of kept rows whose manifest cannot be read,
  // marks kept rows without directory as missing (but for those that storage_filesystem holds),
  // clears staging. Returns one line for each thing found.
  std::vector<std::string> sweep(CheckpointFiles& files);

 private:
  std::vector<CheckpointRow> read(std::string_view condition);
  void insert(const CheckpointRow& row);
  std::vector<std::string> apply_retention();
  std::optional<std::vector<std::string>> write_validation(FencedWrite& write,
                                                           const std::string& name, int64_t attempt,
                                                           const ValidationResult& result);
  static void try_fetch(const CheckpointFiles& files, const std::string& name,
                        std::vector<std::string>& findings);
  SweepVerdict judge(const std::string& name, const std::optional<Manifest>& manifest,
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
  RetentionPolicy policy_;
};

}  // namespace rtrain
