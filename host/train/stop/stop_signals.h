// host/train/stop/stop_signals.h: handles a run's signals: SIGINT, SIGTERM, SIGHUP, SIGUSR1,
// SIGUSR2, SIGXCPU and SIGQUIT.
//
// The first requests a graceful shutdown, the second kills, the third exits at once. SIGQUIT
// (Ctrl-\) shows the stacks of all ranks and then counts as the second. A signal for the whole job
// (scancel, `kill -PGID`, timeout) reaches the workers too, often first: they forward it, and it
// only counts as the first. Signals within a moment of each other count as one. A signal that was
// ignored when the process started (nohup, `&` in a script) stays ignored.
//
// Belongs to the control thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "host/decide/stop_agreement.h"
#include "host/loop/signal.h"
#include "host/loop/timer.h"

namespace rtrain::train {

class StopSignalsDelegate {
 public:
  virtual ~StopSignalsDelegate() = default;
  virtual void on_first_signal(decide::StopKind kind, int number) = 0;
  virtual void on_second_signal() = 0;
  // Shows the stacks, then calls `then`.
  virtual void show_stacks(std::function<void()> then) = 0;
};

class StopSignals {
 public:
  StopSignals(loop::Loop& loop, StopSignalsDelegate& delegate);

  // A worker or an agent has received the signal. Throws Error(kArgument) for a signal that does
  // not stop runs.
  void on_forwarded(int number);

  // "SIGINT"
  static std::string name(int number);

 private:
  void on_signal(int number);
  void ask(int number);
  void quit();
  void kill();

  StopSignalsDelegate& delegate_;
  bool asked_ = false;
  bool quitting_ = false;
  int own_ = 0;
  int exit_code_ = 0;
  double last_s_ = 0;
  std::vector<std::unique_ptr<loop::Signal>> signals_;
  loop::Timer last_resort_;
};

}  // namespace rtrain::train
