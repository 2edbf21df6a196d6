// host/worker/profile/thread_clock.h: the processor time of a thread of this process, as the kernel
// counts it, and a timer that runs by this time.
#pragma once

#include <time.h>

#include <optional>
#include <utility>

namespace rtrain::worker {

// A clock of clock_gettime(), in seconds; -1 where the clock does not exist.
double clock_s(clockid_t clock);
// The thread's processor time; -1 where the thread has ended.
double thread_cpu_s(int tid);
// Whether a processor runs the thread now: its clock advances between two readings.
bool has_processor(int tid);
// How long the thread was ready to run without a processor, until it last got one. Nullopt where
// the thread has ended, or where the kernel does not count this.
std::optional<double> thread_ready_s(int tid);

// Interrupts a thread with a signal when it has used a given processor time. So code that uses a
// tenth of the thread's time gets a tenth of the samples, however loaded the machine is. The kernel
// checks the timer in its tick, 100 to 1000 times a second, while the thread runs.
class CpuTimer {
 public:
  // The signal carries `value`. The timer of a thread that has ended does nothing. Throws
  // Error(kEnvironment) where the kernel gives no more timers.
  CpuTimer(int tid, int signal, int value);
  CpuTimer(CpuTimer&& other) noexcept : timer_(std::exchange(other.timer_, std::nullopt)) {}
  CpuTimer& operator=(CpuTimer&&) = delete;
  ~CpuTimer();
  CpuTimer(const CpuTimer&) = delete;
  CpuTimer& operator=(const CpuTimer&) = delete;

  // Interrupts the thread once, at this time of its clock.
  void set(double cpu_s) const;

 private:
  std::optional<int> timer_;  // the kernel's number
};

}  // namespace rtrain::worker
