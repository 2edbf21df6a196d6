// host/train/checkpoints/storage_mirror.h: copies of the checkpoints in the user's
// storage_filesystem.
//
// Belongs to the control thread. The work to be done stands in the store: kept checkpoints without
// a copy are put, copies of dropped ones deleted, one after the other, by the script's own thread.
// What fails is a warning and is done again when the run ends; a later controller of the run goes
// on where this one stopped.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>

#include "host/train/record/run_context.h"

namespace rtrain {

class StorageMirror {
 public:
  explicit StorageMirror(const RunContext& run) : run_(run) {}

  // Checkpoints were committed or dropped.
  void sync();
  // Tries failed work again, and calls `done` when nothing is left to do.
  void finish(std::function<void()> done);
  bool is_finishing() const { return static_cast<bool>(done_); }
  // Leaves the rest of the work to a later controller. Nothing is begun afterwards.
  void cancel();

  // Brings a checkpoint back whose folder is gone, or gives it up; then calls `done`.
  void fetch(const CheckpointInfo& wanted, std::function<void()> done);

 private:
  struct Copy {
    CheckpointInfo checkpoint;
    bool is_put = true;
  };
  void look();
  void start_next();
  void start(const Copy& copy);
  void ended(const Copy& copy, const std::optional<Value>& value,
             const std::optional<Error>& error);
  void ask_for(const CheckpointInfo& wanted, const std::string& folder, std::function<void()> done);
  void restore(const CheckpointInfo& wanted, const std::string& folder, std::function<void()> done);
  void give_up(const CheckpointInfo& wanted, const std::string& problem,
               std::function<void()> done);
  ScriptQuestion question(std::string_view function, const CheckpointInfo& checkpoint,
                          const std::string& path) const;

  const RunContext& run_;
  bool busy_ = false;
  bool look_again_ = false;
  bool is_cancelled_ = false;
  std::deque<Copy> copies_;
  std::set<std::string> failed_;  // names that wait for the end of the run
  std::function<void()> done_;
};

}  // namespace rtrain
