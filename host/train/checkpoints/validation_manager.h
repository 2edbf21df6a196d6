// host/train/checkpoints/validation_manager.h: validates checkpoints alongside the training, each
// in a process of its own.
//
// Belongs to the control thread. A validation that fails or takes too long ends as such and does no
// harm to the run; one that is cancelled stays pending in the store.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "host/train/checkpoints/validation_process.h"
#include "host/train/checkpoints/validation_queue.h"
#include "host/train/record/run_context.h"

namespace rtrain {

class ValidationManager {
 public:
  // When the delegate hears of an end it is to store the result and then to call ended().
  ValidationManager(const RunContext& run, ValidationDelegate& delegate);

  void add(const CheckpointInfo& checkpoint);
  // The result that the delegate got is in the store.
  void ended(const CheckpointInfo& checkpoint);
  // Kills and forgets all of them. Returns how many there were.
  size_t cancel();
  // Kills them and begins no other; each still is to be ended(). Returns those without a result.
  std::vector<CheckpointInfo> stop_all();

  // While held the output of all of them, also of those that begin, stays in their pipes.
  void hold_output(bool held);

  const ValidationQueue& queue() const { return queue_; }

 private:
  void start_next();
  void start(const CheckpointInfo& checkpoint);
  WorkerContext context_of(const CheckpointInfo& checkpoint) const;

  const RunContext& run_;
  ValidationDelegate& delegate_;
  ValidationQueue queue_;
  bool holds_output_ = false;
  std::map<std::string, std::unique_ptr<ValidationProcess>> processes_;  // by checkpoint
};

}  // namespace rtrain
