// host/train/record/checkpoint_manager.h: the checkpoints of one run: committed, ranked,
// chosen to continue from, dropped.
//
// Belongs to the io thread, as the RunStore next to it. Errors are those of host/store.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/decide/report_collector.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/checkpoint_store.h"
#include "host/store/runs/run_store.h"

namespace rtrain {

// A committed checkpoint as result, events and workers see it.
struct CheckpointInfo {
  std::string path;
  std::string name;
  Value metrics;
  int64_t index = 0;
  int64_t attempt = 0;
  CheckpointStatus status = CheckpointStatus::kCommitted;
  Value validation = {};  // {fn_kwargs, timeout_s} of one that is asked for

  // {path, name, metrics, index, status}
  Value to_value() const;
};

class CheckpointManager {
 public:
  CheckpointManager(RunStore& store, RetentionPolicy policy);

  // The beginning of an attempt: the latest checkpoint whose files are all as they were committed.
  // Others become missing, with a notice that names the file. Hashes are compared once for each
  // checkpoint that this controller has not made itself, sizes always.
  struct Start {
    std::optional<CheckpointInfo> checkpoint;
    std::vector<std::string> notices;
    // Before that choice can be made, storage_filesystem has to bring this one back: restore(),
    // or give_up().
    std::optional<CheckpointInfo> wanted;
  };
  // `can_fetch`: storage_filesystem has a `get`.
  Start choose_start(bool can_fetch);
  // An empty folder for the files of a wanted checkpoint.
  std::string make_fetch_folder() const;
  // Puts fetched files in their place. Throws kCheckpoint when they are not those of the commit.
  void restore(const CheckpointInfo& wanted, const std::string& folder);
  // The wanted one cannot be had.
  void give_up(const CheckpointInfo& wanted, std::string_view problem);
  // A reader has found the files damaged: no attempt begins from it any more.
  void set_damaged(const std::string& path, std::string_view problem);

  struct Committed {
    CheckpointInfo checkpoint;
    std::vector<std::string> dropped;  // names whose directories are to go: drop() them
    std::vector<std::string> warnings;
  };
  // Commits the files that the ranks staged for one report. Throws kArgument for a score that is
  // not a number.
  Committed commit(int64_t attempt, const std::string& nonce, const std::vector<Report>& reports);
  void drop(std::span<const std::string> names) { files_.drop(names); }

  // Ends a validation; metrics too large to join those of the report make it one that failed.
  // Throws kInternal for a checkpoint that the run does not have.
  struct Validated {
    ValidationResult result;  // as it counts
    std::vector<std::string> dropped;
    std::vector<std::string> warnings;
  };
  Validated end_validation(const CheckpointInfo& checkpoint, const ValidationResult& result);

  // The kept ones in the order of their reports.
  std::vector<CheckpointInfo> kept();
  // What storage_filesystem has yet to get, and what it holds although it was dropped.
  std::vector<CheckpointInfo> unmirrored();
  std::vector<CheckpointInfo> mirrored_leftovers();
  // The best first, and the latest.
  struct Ranked {
    std::vector<CheckpointInfo> best;
    std::optional<CheckpointInfo> latest;
  };
  Ranked ranked();

  CheckpointStore& rows() { return rows_; }
  CheckpointFiles& files() { return files_; }

 private:
  CheckpointInfo info(const CheckpointRow& row) const;
  void verify(const CheckpointInfo& candidate);
  std::optional<std::string> problem_of(const CheckpointInfo& candidate);

  RunStore& store_;
  CheckpointFiles files_;
  CheckpointStore rows_;
  std::set<std::pair<std::string, int64_t>> verified_;  // name and attempt: hashes compared
};

}  // namespace rtrain
