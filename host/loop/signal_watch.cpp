#include "host/loop/signal_watch.h"

#include <unistd.h>

#include <atomic>

#include "host/base/error.h"
#include "host/loop/signal.h"

namespace rtrain::loop {
namespace {

// Signal handlers can reach only globals.
std::atomic<int> first_signal{0};

void on_signal(int number) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) return;
  _exit(exit_code(number == SIGINT ? Code::kInterrupted : Code::kTerminated));
}

}  // namespace

SignalWatch::SignalWatch() {
  first_signal = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int number : kStopSignals) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
    before_.emplace_back(number, before);
  }
}

SignalWatch::~SignalWatch() {
  for (const auto& [number, before] : before_) sigaction(number, &before, nullptr);
}

int SignalWatch::first() const { return first_signal; }

}  // namespace rtrain::loop
