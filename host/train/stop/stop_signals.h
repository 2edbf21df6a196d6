// host/train/stop/stop_signals.h: what signals ask of a run: SIGINT, SIGTERM, SIGHUP, SIGUSR1,
// SIGUSR2, SIGXCPU and SIGQUIT.
//
// The first asks for a stop, the second kills, the third leaves at once. SIGQUIT (Ctrl-\) shows
// where all ranks are and then counts as the second. A signal for the whole job
// (scancel, `kill -PGID`, timeout) reaches the workers too, and often first: they pass it on, and
// it counts as the first only. Signals that come within a moment of each other are one. A signal
// that was ignored when the process started (nohup, `&` in a script) stays ignored.
//
// Belongs to the control thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "host/loop/signal.h"
#include "host/loop/timer.h"
#include "host/train/stop/stop_agreement.h"

namespace rtrain {

class StopSignals {
 public:
  struct Seams {
    std::function<void(StopKind kind, int number)> on_first;
    std::function<void()> on_second;
    // Shows the stacks and then calls `then`.
    std::function<void(std::function<void()> then)> show_stacks;
  };

  StopSignals(Loop& loop, Seams seams);

  // A worker has got it.
  void on_forwarded(int number);

  // "SIGINT"
  static std::string name(int number);

 private:
  void on_signal(int number);
  void ask(int number);
  void quit();
  void kill();

  Seams seams_;
  bool asked_ = false;
  bool quitting_ = false;
  int own_ = 0;
  int exit_code_ = 0;
  double last_s_ = 0;
  std::vector<std::unique_ptr<Signal>> signals_;
  Timer last_resort_;
};

}  // namespace rtrain
