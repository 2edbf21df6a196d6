// host/train/checkpoints/checkpoint_coordinator.h: the work on checkpoints once they are
// committed: validations, copies in storage_filesystem, and the ranks' questions about them.
//
// Belongs to the control thread. The controller tells it of commits and of progress; it sees to it
// that the run does not end before its validations have.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "host/decide/checkpoints/checkpoint_queries.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/loop/timer.h"
#include "host/train/checkpoints/storage_mirror.h"
#include "host/train/checkpoints/validation_manager.h"
#include "host/train/record/run_context.h"

namespace rtrain {

class CheckpointCoordinatorDelegate {
 public:
  virtual ~CheckpointCoordinatorDelegate() = default;
  // Nothing for a rank that is not there any more.
  virtual void send(int rank, message::ToWorker message) = 0;
  virtual void add_validation_log(const CheckpointInfo& checkpoint, std::string_view bytes) = 0;
  // Of the reports: `first_pending` is not set.
  virtual CheckpointProgress progress() const = 0;
  virtual void on_storage_error(const Error& error) = 0;
};

class CheckpointCoordinator : public ValidationDelegate {
 public:
  CheckpointCoordinator(const RunContext& run, CheckpointCoordinatorDelegate& delegate);

  // Validations that an earlier controller left are done again.
  void begin_run();
  // Of a new worker group: no rank waits any more.
  void begin_attempt();
  void committed(const CheckpointInfo& checkpoint);
  // Brings a checkpoint back whose folder is gone, or gives it up; then calls `done`.
  void fetch(const CheckpointInfo& wanted, std::function<void()> done) {
    mirror_.fetch(wanted, std::move(done));
  }
  // A rank asks for the checkpoints that were reported.
  void ask(int rank, const message::Checkpoints& asked);
  // Reports have come, or a rank has returned.
  void progressed();

  // As WorkerGroup::hold_output, for all validations.
  void hold_output(bool held) { validations_.hold_output(held); }

  // Calls `done` when all validations have ended, or RunConfig's limit for that has passed.
  void drain(std::function<void()> done);
  bool is_draining() const { return drained_ || mirror_.is_finishing(); }
  // Ends all validations and copies. They stay pending in the store: the run's next controller does
  // them again.
  void cancel();

 private:
  void on_validation_output(const CheckpointInfo& checkpoint, std::string_view bytes) override;
  void on_validation_line(const CheckpointInfo& checkpoint, std::string_view stream,
                          std::string line) override;
  void on_validation_end(const CheckpointInfo& checkpoint, const ValidationResult& result) override;
  void validated(const CheckpointInfo& checkpoint, const CheckpointManager::Validated& stored);
  void check_drained();
  std::optional<double> drain_timeout_s() const;
  void drain_too_long();
  CheckpointProgress progress() const;
  void look_up(const CheckpointQuestion& question);
  void reply(const CheckpointQuery& query, const List& checkpoints);

  const RunContext& run_;
  CheckpointCoordinatorDelegate& delegate_;
  ValidationManager validations_;
  CheckpointQueries queries_;
  StorageMirror mirror_;
  std::function<void()> drained_;
  Timer query_deadline_;
  Timer drain_deadline_;
};

}  // namespace rtrain
