#include "host/base/fault.h"

#ifndef RTRAIN_NO_FAULT_POINTS

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <thread>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

constexpr int kController = -1;

enum class Act { kKill, kSegv, kAbort, kStop, kExit, kSleep, kErrno, kThrow };

struct Fault {
  std::string pattern;
  int64_t nth = 1;
  bool and_later = false;
  Act act = Act::kThrow;
  int64_t argument = 0;  // milliseconds, or an errno
  std::optional<bool> in_controller;
  std::optional<int64_t> rank;
  std::optional<int64_t> attempt;
  std::atomic<int64_t> reached = 0;
};

std::deque<Fault> plan;  // set before other threads exist
std::atomic<int> process_rank = kController;
std::atomic<int> process_attempt = 0;

Error malformed(std::string_view text, std::string_view reason) {
  return Error(Code::kUsage, cat("RTRAIN_FAULT: '", text, "' ", reason,
                                 "; it is point:nth:action[:filter…][,…]: `rtrain env "
                                 "--fault-points` lists the points"));
}

std::string_view take(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

int64_t number(std::string_view text, std::string_view whole) {
  int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) {
    throw malformed(whole, "has no number where one belongs");
  }
  return value;
}

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

int errno_of(std::string_view name, std::string_view whole) {
  constexpr int kLast = 134;
  for (int number = 1; number < kLast; ++number) {
    const char* known = strerrorname_np(number);
    if (known != nullptr && name == known) return number;
  }
  throw malformed(whole, "names no errno");
}

void read_action(Fault& fault, std::string_view text, std::string_view whole) {
  struct Word {
    std::string_view name;
    Act act;
  };
  constexpr std::array kWords = {
      Word{"kill", Act::kKill},   Word{"segv", Act::kSegv},   Word{"abort", Act::kAbort},
      Word{"stop", Act::kStop},   Word{"exit", Act::kExit},   Word{"sleep", Act::kSleep},
      Word{"errno", Act::kErrno}, Word{"throw", Act::kThrow},
  };
  const std::string_view name = take(text, '=');
  for (const Word& word : kWords) {
    if (word.name != name) continue;
    fault.act = word.act;
    if (word.act == Act::kSleep) fault.argument = number(text, whole);
    if (word.act == Act::kErrno) fault.argument = errno_of(text, whole);
    return;
  }
  throw malformed(whole, "names no action");
}

void read_filter(Fault& fault, std::string_view text, std::string_view whole) {
  const std::string_view name = take(text, '=');
  if (name == "controller" || name == "worker") {
    fault.in_controller = name == "controller";
  } else if (name == "rank") {
    fault.rank = number(text, whole);
  } else if (name == "attempt") {
    fault.attempt = number(text, whole);
  } else {
    throw malformed(whole, "names no filter");
  }
}

void add_fault(std::string_view whole) {
  Fault& fault = plan.emplace_back();
  std::string_view rest = whole;
  fault.pattern = take(rest, ':');
  bool known = false;
  for (const FaultPointInfo& point : kFaultPoints) known |= matches(fault.pattern, point.name);
  if (!known) throw malformed(whole, "names no fault point");
  std::string_view nth = take(rest, ':');
  fault.and_later = nth.ends_with('+');
  if (fault.and_later) nth.remove_suffix(1);
  fault.nth = number(nth, whole);
  read_action(fault, take(rest, ':'), whole);
  while (!rest.empty()) read_filter(fault, take(rest, ':'), whole);
}

bool applies(const Fault& fault, std::string_view name) {
  const int rank = process_rank;
  if (!matches(fault.pattern, name)) return false;
  if (fault.in_controller && *fault.in_controller != (rank == kController)) return false;
  if (fault.rank && *fault.rank != rank) return false;
  return !fault.attempt || *fault.attempt == process_attempt;
}

// Raises a fault through the kernel, which delivers it even if the signal is blocked.
void write_to_address_0() {
  volatile int* address = nullptr;
  asm volatile("" : "+r"(address));
  *address = 0;
}

void act(const Fault& fault, std::string_view name) {
  switch (fault.act) {
    case Act::kKill:
      ::kill(::getpid(), SIGKILL);
      break;
    case Act::kStop:
      ::raise(SIGSTOP);  // to this thread: it runs no further before the process is stopped
      break;
    case Act::kSegv:
      write_to_address_0();
      break;
    case Act::kAbort:
      std::abort();
    case Act::kExit:
      ::_exit(0);
    case Act::kSleep:
      std::this_thread::sleep_for(std::chrono::milliseconds(fault.argument));
      break;
    case Act::kErrno:
      throw Error(Code::kEnvironment,
                  cat("fault point ", name, ": ",
                      std::string_view(std::strerror(static_cast<int>(fault.argument)))));
    case Act::kThrow:
      throw Error(Code::kInternal, cat("fault point ", name, ": thrown on purpose"));
  }
}

}  // namespace

void set_fault_plan(std::string_view text) {
  plan.clear();
  while (!text.empty()) add_fault(take(text, ','));
}

void set_fault_process(int rank) { process_rank = rank; }
void set_fault_attempt(int attempt) { process_attempt = attempt; }

void fault_point(FaultName name) {
  const std::string_view point = kFaultPoints[name.index()].name;
  for (Fault& fault : plan) {
    if (!applies(fault, point)) continue;
    const int64_t reached = ++fault.reached;
    if (reached == fault.nth || (fault.and_later && reached > fault.nth)) act(fault, point);
  }
}

}  // namespace rtrain

#endif
