// host/train/checkpoints/storage_mirror.h: keeps copies of checkpoints in the user's
// storage_filesystem.
//
// Belongs to the control thread. The store determines the work: kept checkpoints without a copy are
// copied and copies of dropped ones deleted, one after the other, by the script's thread. A failure
// gives a warning and is repeated at the end of the run; a later controller of the run continues
// the remaining work.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>

#include "host/train/record/run_context.h"

namespace rtrain::train {

class StorageMirror {
 public:
  explicit StorageMirror(const RunContext& run) : run_(run) {}

  // Checkpoints were committed or dropped.
  void sync();
  // Retries failed work, and calls `done` when no work is left.
  void finish(std::function<void()> done);
  bool is_finishing() const { return static_cast<bool>(done_); }
  // Starts no more work; a later controller does the rest.
  void cancel();

  // Fetches a checkpoint whose folder is missing, or gives it up; then calls `done`.
  void fetch(const store::CheckpointRow& wanted, std::function<void()> done);

 private:
  struct Copy {
    store::CheckpointRow checkpoint;
    bool is_put = true;
  };
  void look();
  void start_next();
  void start(const Copy& copy);
  void ended(const Copy& copy, const std::optional<Value>& value,
             const std::optional<Error>& error);
  void ask_for(const store::CheckpointRow& wanted, const std::string& folder,
               std::function<void()> done);
  void restore(const store::CheckpointRow& wanted, const std::string& folder,
               std::function<void()> done);
  void give_up(const store::CheckpointRow& wanted, const std::string& problem,
               std::function<void()> done);
  ScriptQuestion question(std::string_view function, const store::CheckpointRow& checkpoint,
                          const std::string& path) const;

  const RunContext& run_;
  bool busy_ = false;
  bool look_again_ = false;
  bool is_cancelled_ = false;
  std::deque<Copy> copies_;
  std::set<std::string> failed_;  // names to retry at the end of the run
  std::function<void()> done_;
};

}  // namespace rtrain::train
