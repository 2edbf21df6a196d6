// host/worker/profile/stack_sampler.h: a sampling profiler of this process. Many times a second it
// takes the stacks of the threads, with Lua lines and native functions in one stack.
//
// A timer of each thread's processor time (host/worker/profile/thread_clock.h) interrupts it with a
// signal, whose handler writes the thread's own stack (host/worker/profile/sample_slot.h). The
// kernel counts how long the thread has run, and how long it was ready but had no processor. The
// rest of the time it has waited. Where it waits, a sample with the same signal shows: tick() sends
// it once for each wait, when it sees that the thread has run and now has no processor, and reads
// the sample at its next call. So neither the machine's load nor a thread's delay in answering
// changes the counted times. Threads are not slowed between two samples. At most one sampler exists
// at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/machine/processes/native_symbols.h"
#include "host/profile/sampled_stacks.h"
#include "host/worker/profile/sample_slot.h"

namespace rtrain::worker {

// The processor time of the sampling itself, and that of the process.
struct SamplingCost {
  double own_s = 0;      // of the sampling thread, and of all handlers
  double process_s = 0;  // of all threads, with own_s
};

class StackSampler {
 public:
  // is_idle_wanted: whether waits of other threads than the main thread are sampled too.
  explicit StackSampler(bool is_idle_wanted);
  ~StackSampler();
  StackSampler(const StackSampler&) = delete;
  StackSampler& operator=(const StackSampler&) = delete;

  // `interval_s` is the time until the next tick, and a thread's processor time between two
  // samples. Throws Error(kEnvironment) where the kernel gives no more timers.
  void tick(double interval_s);
  int64_t num_samples() const { return samples_; }
  SamplingCost cost() const;
  // Returns the samples, with names instead of addresses. Call it once, after the last tick.
  profile::SampledStacks finish();

 private:
  struct Seen;
  struct Thread;
  using Stack = std::vector<int>;  // indices in frames_

  void list_threads(double interval_s);
  void look(Thread& thread, double interval_s);
  bool is_wanted(const Thread& thread) const;
  void count_time(Thread& thread, double now_s, double cpu_s);
  double count_ready(Thread& thread);
  void ask(Thread& thread);
  bool is_complete(SampleSlot& slot, bool is_patient);
  void take_running(Thread& thread, double cpu_s, double interval_s);
  void take_waiting(Thread& thread);
  void close(Thread& thread);
  Stack stack_of(const SampleSlot& slot);
  int frame_number(std::string key);
  std::vector<machine::NativeSymbol> symbols() const;
  std::vector<int> name_frames(profile::SampledStacks& out) const;

  bool is_idle_wanted_;
  int64_t ticks_ = 0;
  int64_t samples_ = 0;
  double handlers_s_ = 0;
  double begun_own_s_ = 0;
  double begun_process_s_ = 0;
  nlink_t links_ = 0;  // links of /proc/self/task at the last tick: one for each thread
  std::span<SampleSlot, kMaxSampleSlots> slots_;
  std::map<int, Thread> threads_;     // by tid
  std::vector<size_t> free_slots_;    // two for each thread
  std::map<std::string, Seen> seen_;  // by the threads' names
  std::vector<std::string> frames_;   // by number: a Lua line or an address, as a key
  std::unordered_map<std::string, int> numbers_;
  std::minstd_rand random_;
};

}  // namespace rtrain::worker
