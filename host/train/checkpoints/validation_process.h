// host/train/checkpoints/validation_process.h: a validation: a process that calls the validation
// function with a checkpoint.
//
// It is a worker without a group: it gets `start` with the checkpoint, sends `returned` or
// `failed`, and ends. Belongs to the control thread. It is killed at its deadline, and by this
// object's destructor.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/loop/messages/routes.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/loop/timer.h"
#include "host/node/workers/worker_group.h"
#include "host/train/record/checkpoint_manager.h"

namespace rtrain::train {

class ValidationDelegate {
 public:
  virtual ~ValidationDelegate() = default;
  virtual void on_validation_output(const store::CheckpointRow& checkpoint,
                                    std::string_view bytes) = 0;
  virtual void on_validation_line(const store::CheckpointRow& checkpoint, std::string_view stream,
                                  std::string line) = 0;
  // Called once, when the process has ended. Must not destroy the process from inside.
  virtual void on_validation_end(const store::CheckpointRow& checkpoint,
                                 const store::ValidationResult& result) = 0;
};

class ValidationProcess : public node::WorkerGroupDelegate {
 public:
  // The checkpoint to validate, and the arguments.
  struct Job {
    store::CheckpointRow checkpoint;
    loop::WorkerContext context;
    node::WorkerGroupOptions options;
  };

  // Throws Error(kEnvironment) if the process cannot be started.
  ValidationProcess(loop::Loop& loop, Job job, ValidationDelegate& delegate);

  // Like WorkerGroup::hold_output.
  void hold_output(bool held) { group_.hold_output(held); }

  // Messages that are received; others are ignored.
  using Messages = std::variant<message::Hello, message::Returned, message::Failed>;
  static const loop::Routes<Messages, ValidationProcess, int> kRoutes;

 private:
  void on_frame(int rank, std::string frame) override;
  void on_output(int rank, node::OutputStream stream, std::string_view bytes) override;
  void show(std::vector<node::OutputLine> lines);
  void on_gone(int rank, const node::WorkerEnd& end) override;
  void send(int rank, message::ToWorker message);
  void on_deadline();

  Job job_;
  std::optional<double> limit_s_;  // how long it may take
  ValidationDelegate& delegate_;
  std::optional<store::ValidationResult> result_;
  node::OutputLines lines_;
  loop::Timer deadline_;
  node::WorkerGroup group_;
};

}  // namespace rtrain::train
