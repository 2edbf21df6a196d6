// host/loop/signal.h: calls a function on the loop at a POSIX signal. The destructor restores the
// process's former action for that signal.
#pragma once

#include <array>
#include <csignal>

#include "host/loop/handle.h"

namespace rtrain::loop {

// The signals that a run takes as a request to end: from a person, a scheduler or a batch system.
inline constexpr std::array kStopSignals = {SIGINT,  SIGTERM, SIGHUP, SIGUSR1,
                                            SIGUSR2, SIGXCPU, SIGQUIT};

class Signal {
 public:
  Signal(Loop& loop, int number, std::function<void()> on_signal);
  ~Signal();

 private:
  int number_;
  struct sigaction before_ {};
  Handle<uv_signal_t, int> handle_;
};

}  // namespace rtrain::loop
