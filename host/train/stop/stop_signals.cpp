#include "host/train/stop/stop_signals.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

// Signals within this time count as one: no user is that fast, but `timeout` signals its child and
// then the child's group.
constexpr double kOneSignalS = 0.1;
// Time for the run's end to reach the disk after a second signal.
constexpr std::chrono::seconds kLastResort{2};

decide::StopKind kind_of(int number) {
  return number == SIGINT ? decide::StopKind::kInterrupt : decide::StopKind::kTerminate;
}

// Ctrl-C and Ctrl-\ come from a user.
Code code_of(int number) {
  return number == SIGINT || number == SIGQUIT ? Code::kInterrupted : Code::kTerminated;
}

bool is_ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals(loop::Loop& loop, StopSignalsDelegate& delegate)
    : delegate_(delegate), last_resort_(loop, [this] { _exit(exit_code_); }) {
  for (const int number : loop::kStopSignals) {
    if (is_ignored(number)) continue;
    signals_.push_back(
        std::make_unique<loop::Signal>(loop, number, [this, number] { on_signal(number); }));
  }
}

std::string StopSignals::name(int number) { return cat("SIG", sigabbrev_np(number)); }

void StopSignals::on_forwarded(int number) {
  if (std::ranges::find(loop::kStopSignals, number) == loop::kStopSignals.end()) {
    throw Error(Code::kArgument, cat("signal ", number, " does not stop a run"));
  }
  if (number == SIGQUIT) return quit();
  ask(number);
}

void StopSignals::on_signal(int number) {
  const double now_s = monotonic_s();
  const bool same = own_ > 0 && now_s - last_s_ < kOneSignalS;
  last_s_ = now_s;
  if (same) return;
  if (number == SIGXCPU && asked_) return;  // the kernel repeats it every second
  exit_code_ = exit_code(code_of(number));
  ++own_;
  if (number == SIGQUIT && !quitting_) return quit();
  if (own_ == 1) return ask(number);
  if (own_ > 2) _exit(exit_code_);
  kill();
}

void StopSignals::quit() {
  if (quitting_) return;
  asked_ = quitting_ = true;
  own_ = 1;
  exit_code_ = exit_code(code_of(SIGQUIT));
  delegate_.show_stacks([this] { kill(); });
}

void StopSignals::kill() {
  delegate_.on_second_signal();
  last_resort_.start(kLastResort);
}

void StopSignals::ask(int number) {
  if (asked_) return;
  asked_ = true;
  delegate_.on_first_signal(kind_of(number), number);
}

}  // namespace rtrain::train
