// host/train/stop/graceful_shutdown.h: the graceful shutdown of a group: the ranks agree on where
// to stop, save and return, at most within the grace period.
//
// Belongs to the control thread. It is complete when a checkpoint was committed and either
// * the train function never calls stop_requested(), or
// * that checkpoint was reported after a rank was notified, and there was time to return.
// The state machine detects that all ranks have returned.
#pragma once

#include <chrono>
#include <string>

#include "host/base/value.h"
#include "host/decide/stop_agreement.h"
#include "host/loop/messages/to_controller.h"
#include "host/loop/messages/to_worker.h"
#include "host/loop/timer.h"

namespace rtrain::train {

class GracefulShutdownDelegate {
 public:
  virtual ~GracefulShutdownDelegate() = default;
  virtual void send_all(message::ToWorker message) = 0;
  virtual void warn(const std::string& text) = 0;
  virtual void on_stop_complete() = 0;
  virtual void on_grace_passed() = 0;
};

class GracefulShutdown {
 public:
  struct Times {
    // Time for the ranks' answers. Their control threads answer within microseconds, unless the
    // process is stopped or blocked in the kernel.
    std::chrono::milliseconds answer{2000};
    // Time from the commit to the return of the train function.
    std::chrono::milliseconds finish{2000};
  };

  GracefulShutdown(loop::Loop& loop, int num_workers, GracefulShutdownDelegate& delegate,
                   Times times);
  GracefulShutdown(loop::Loop& loop, int num_workers, GracefulShutdownDelegate& delegate)
      : GracefulShutdown(loop, num_workers, delegate, Times()) {}

  // A second call, for another reason, begins the grace period again and keeps the agreement.
  void start(double grace_s);

  // Receives the messages stop_calls and stop_seen.
  void on_calls(int rank, const message::StopCalls& answer);
  void on_seen(const message::StopSeen& seen);
  // The rank has returned, raised an error or ended.
  void on_left(int rank);
  void on_committed(int64_t index);

  bool is_started() const { return started_; }
  // Later calls have no effect.
  void close();

 private:
  void send(const std::optional<decide::StopOrder>& order);
  void on_no_answer();

  GracefulShutdownDelegate& delegate_;
  Times times_;
  decide::StopAgreement agreement_;
  bool started_ = false;
  std::optional<int64_t> first_seen_;  // next report of the rank that was notified first
  loop::Timer answers_;
  loop::Timer grace_;
  loop::Timer return_;
};

}  // namespace rtrain::train
