// host/train/record/checkpoint_manager.h: the checkpoints of one run: commit, ranking, choice of
// the one to continue from, and removal.
//
// Belongs to the io thread, like its RunStore. Errors are those of host/store.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/decide/report_collector.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/checkpoint_table.h"
#include "host/store/runs/run_store.h"

namespace rtrain::train {

class CheckpointManager {
 public:
  CheckpointManager(store::RunStore& store, decide::RetentionPolicy policy);

  // The start of an attempt: the latest checkpoint whose files are unchanged since the commit.
  // Checkpoints with changed files are marked missing, with a notice that names the file. Hashes
  // are compared once for each checkpoint that this controller has not committed itself, sizes
  // always.
  struct Start {
    std::optional<store::CheckpointRow> checkpoint;
    std::vector<std::string> notices;
    // Set if storage_filesystem must bring this one back before the choice: then call restore() or
    // give_up().
    std::optional<store::CheckpointRow> wanted;
  };
  // `can_fetch`: storage_filesystem has a `get`.
  Start choose_start(bool can_fetch);
  // Creates an empty folder for the files of `wanted`.
  std::string make_fetch_folder() const;
  // Moves fetched files to their place. Throws kCheckpoint if they differ from the committed ones.
  void restore(const store::CheckpointRow& wanted, const std::string& folder);
  // The wanted checkpoint could not be fetched.
  void give_up(const store::CheckpointRow& wanted, std::string_view problem);
  // A reader has found damaged files: no attempt starts from the checkpoint any more.
  void set_damaged(const std::string& path, std::string_view problem);

  struct Committed {
    store::CheckpointRow checkpoint;
    std::vector<std::string> dropped;  // names whose directories must be passed to drop()
    std::vector<std::string> warnings;
  };
  // Commits the files that the ranks have staged for one report. Throws kArgument for a score that
  // is not a number.
  Committed commit(int64_t attempt, const std::string& nonce, const std::vector<Report>& reports);
  void drop(std::span<const std::string> names) { files_.drop(names); }

  // Ends a validation. If its metrics are too large to be merged with those of the report, it
  // counts as failed. Throws kInternal for an unknown checkpoint.
  struct Validated {
    store::ValidationResult result;  // the result that was stored
    std::vector<std::string> dropped;
    std::vector<std::string> warnings;
  };
  Validated end_validation(const store::CheckpointRow& checkpoint,
                           const store::ValidationResult& result);

  // The kept checkpoints, in the order of their reports.
  std::vector<store::CheckpointRow> kept() { return rows_.kept(); }
  // Checkpoints that storage_filesystem lacks, and dropped ones that it still has.
  std::vector<store::CheckpointRow> unmirrored();
  std::vector<store::CheckpointRow> mirrored_leftovers() { return rows_.mirrored_leftovers(); }
  // The checkpoints by score, best first, and the latest one.
  struct Ranked {
    std::vector<store::CheckpointRow> best;
    std::optional<store::CheckpointRow> latest;
  };
  Ranked ranked();

  store::CheckpointTable& rows() { return rows_; }
  store::CheckpointFiles& files() { return files_; }

 private:
  void verify(const store::CheckpointRow& candidate);
  std::optional<std::string> problem_of(const store::CheckpointRow& candidate);

  store::RunStore& store_;
  store::CheckpointFiles files_;
  store::CheckpointTable rows_;
  std::set<std::pair<std::string, int64_t>> verified_;  // name and attempt: hashes compared
};

}  // namespace rtrain::train
