// host/loop/signal_watch.h: which signal has asked this process to end, for a loop of its own that
// looks now and then.
//
// The second such signal ends the process at once, with the exit code of an interrupted or
// terminated run: its children that end with their parent do so too. One object at a time. For one
// thread; the handlers run on any.
#pragma once

#include <csignal>
#include <utility>
#include <vector>

namespace rtrain::loop {

class SignalWatch {
 public:
  // Takes over SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU, but for those that are
  // ignored.
  SignalWatch();
  // Gives them back.
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // The first one since the object was made; 0: none.
  int first() const;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace rtrain::loop
