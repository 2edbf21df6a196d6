// host/loop/signal_watch.h: says which signal has asked this process to end, for loops without
// libuv that ask from time to time.
//
// The second such signal ends the process at once, with the exit code of an interrupted or
// terminated run; so its children that die with their parent end too. At most one object exists at
// a time. It belongs to one thread; the handlers run on any.
#pragma once

#include <csignal>
#include <utility>
#include <vector>

namespace rtrain::loop {

class SignalWatch {
 public:
  // Takes over SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU, except those that are
  // ignored.
  SignalWatch();
  // Restores their former actions.
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // The first signal since the object was made; 0: none.
  int first() const;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace rtrain::loop
