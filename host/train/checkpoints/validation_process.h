// host/train/checkpoints/validation_process.h: one validation: a process of its own that calls the
// validation function with a checkpoint.
//
// It is a worker without a group: it gets `start` with the checkpoint, says `returned` or `failed`,
// and leaves. Belongs to the control thread. Killed at its deadline, and with this object.
#pragma once

#include <functional>
#include <optional>

#include "host/loop/message.h"
#include "host/loop/timer.h"
#include "host/train/checkpoints/checkpoint_manager.h"
#include "host/train/group/worker_group.h"

namespace rtrain {

class ValidationProcess : private WorkerGroupObserver {
 public:
  struct Callbacks {
    std::function<void(std::string_view bytes)> on_output;
    std::function<void(std::string_view stream, std::string line)> on_line;
    // Once, when the process is gone. Not to destroy this object from inside.
    std::function<void(const ValidationResult& result)> on_end;
  };

  // Throws Error(kEnvironment) when the process cannot be spawned.
  ValidationProcess(Loop& loop, const WorkerGroupOptions& options, const WorkerContext& context,
                    Callbacks callbacks);

  // As WorkerGroup::hold_output.
  void hold_output(bool held) { group_.hold_output(held); }

 private:
  void on_message(int rank, const Value& message) override;
  void on_output(int rank, std::string_view bytes) override;
  void on_line(int rank, std::string_view stream, std::string line) override;
  void on_gone(int rank, const WorkerEnd& end) override;
  void on_deadline();

  WorkerContext context_;
  Callbacks callbacks_;
  std::optional<ValidationResult> result_;
  Timer deadline_;
  WorkerGroup group_;
};

}  // namespace rtrain
