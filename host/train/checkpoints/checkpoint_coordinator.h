// host/train/checkpoints/checkpoint_coordinator.h: handles committed checkpoints: validations,
// copies in storage_filesystem, and queries of the ranks.
//
// Belongs to the control thread. The controller notifies it of commits and of progress; it delays
// the end of the run until all validations have ended.
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

namespace rtrain::train {

class CheckpointCoordinatorDelegate {
 public:
  virtual ~CheckpointCoordinatorDelegate() = default;
  // Does nothing for a rank that has ended.
  virtual void send(int rank, message::ToWorker message) = 0;
  virtual void add_validation_log(const store::CheckpointRow& checkpoint,
                                  std::string_view bytes) = 0;
  // The progress of reports, without `first_pending`.
  virtual decide::CheckpointProgress progress() const = 0;
  virtual void on_storage_error(const Error& error) = 0;
};

class CheckpointCoordinator : public ValidationDelegate {
 public:
  CheckpointCoordinator(const RunContext& run, CheckpointCoordinatorDelegate& delegate);

  // Repeats validations that an earlier controller has left.
  void begin_run();
  // A new worker group has started: queries of the old one are dropped.
  void begin_attempt();
  void committed(const store::CheckpointRow& checkpoint);
  // Fetches a checkpoint whose folder is missing, or gives it up; then calls `done`.
  void fetch(const store::CheckpointRow& wanted, std::function<void()> done) {
    mirror_.fetch(wanted, std::move(done));
  }
  // Answers a rank's query of the reported checkpoints.
  void ask(int rank, const message::Checkpoints& asked);
  // Reports have arrived, or a rank has returned.
  void progressed();

  // Like WorkerGroup::hold_output, for all validations.
  void hold_output(bool held) { validations_.hold_output(held); }

  // Calls `done` when all validations have ended or RunConfig's time limit for them has passed.
  void drain(std::function<void()> done);
  bool is_draining() const { return drained_ || mirror_.is_finishing(); }
  // Ends all validations and copies. They stay pending in the store, and the run's next controller
  // repeats them.
  void cancel();

 private:
  void on_validation_output(const store::CheckpointRow& checkpoint,
                            std::string_view bytes) override;
  void on_validation_line(const store::CheckpointRow& checkpoint, std::string_view stream,
                          std::string line) override;
  void on_validation_end(const store::CheckpointRow& checkpoint,
                         const store::ValidationResult& result) override;
  void validated(const store::CheckpointRow& checkpoint,
                 const CheckpointManager::Validated& stored);
  void check_drained();
  std::optional<double> drain_timeout_s() const;
  void drain_too_long();
  decide::CheckpointProgress progress() const;
  void look_up(const decide::CheckpointQuestion& question);
  void reply(const decide::CheckpointQuery& query, const List& checkpoints);

  const RunContext& run_;
  CheckpointCoordinatorDelegate& delegate_;
  ValidationManager validations_;
  decide::CheckpointQueries queries_;
  StorageMirror mirror_;
  std::function<void()> drained_;
  loop::Timer query_deadline_;
  loop::Timer drain_deadline_;
};

}  // namespace rtrain::train
