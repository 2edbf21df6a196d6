// host/train/checkpoints/validation_manager.h: validates checkpoints during training, each in its
// own process.
//
// Belongs to the control thread. A validation that fails or times out does not affect the run
// otherwise. A validation that is cancelled stays pending in the store.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "host/train/checkpoints/validation_process.h"
#include "host/train/checkpoints/validation_queue.h"
#include "host/train/record/run_context.h"

namespace rtrain::train {

class ValidationManager {
 public:
  // After each end of a validation the delegate must store the result and then call ended().
  ValidationManager(const RunContext& run, ValidationDelegate& delegate);

  void add(const store::CheckpointRow& checkpoint);
  // The delegate has stored the result.
  void ended(const store::CheckpointRow& checkpoint);
  // Kills and forgets all validations. Returns their number.
  size_t cancel();
  // Kills all validations and starts no more; ended() must still be called for each. Returns the
  // checkpoints without a result.
  std::vector<store::CheckpointRow> stop_all();

  // While held, the output of all validations, including later ones, stays in their pipes.
  void hold_output(bool held);

  const ValidationQueue& queue() const { return queue_; }

 private:
  void start_next();
  void start(const store::CheckpointRow& checkpoint);
  loop::WorkerContext context_of(const store::CheckpointRow& checkpoint) const;

  const RunContext& run_;
  ValidationDelegate& delegate_;
  ValidationQueue queue_;
  bool holds_output_ = false;
  std::map<std::string, std::unique_ptr<ValidationProcess>> processes_;  // by checkpoint
};

}  // namespace rtrain::train
