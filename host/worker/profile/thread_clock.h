// host/worker/profile/thread_clock.h: what the kernel says of the time of a thread of this process,
// and a timer that goes by it.
#pragma once

#include <time.h>

#include <optional>
#include <utility>

namespace rtrain::worker {

// Of the clocks of clock_gettime(); -1 for one that is not there.
double clock_s(clockid_t clock);
// Processor time; -1 where the thread has ended.
double thread_cpu_s(int tid);
// Whether a processor runs it just now: its clock advances between two looks.
bool has_processor(int tid);
// How long it could have run while others had the processors, up to when it was last given one;
// nothing where it has ended, or the kernel does not count that.
std::optional<double> thread_ready_s(int tid);

// Interrupts a thread when it has had so much processor time, wherever it is by then: a place that
// has a tenth of its time is hit by a tenth of such timers, however loaded the machine is. The
// kernel looks at it in its tick, 100 to 1000 times a second, where a thread runs.
class CpuTimer {
 public:
  // Does nothing for a thread that has ended. Throws Error(kEnvironment) where there can be
  // no more timers.
  CpuTimer(int tid, int signal, int value);
  CpuTimer(CpuTimer&& other) noexcept : timer_(std::exchange(other.timer_, std::nullopt)) {}
  CpuTimer& operator=(CpuTimer&&) = delete;
  ~CpuTimer();
  CpuTimer(const CpuTimer&) = delete;
  CpuTimer& operator=(const CpuTimer&) = delete;

  // Once, at this time of the thread's clock.
  void set(double cpu_s) const;

 private:
  std::optional<int> timer_;  // the kernel's number
};

}  // namespace rtrain::worker
