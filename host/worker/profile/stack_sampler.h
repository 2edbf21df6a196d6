// host/worker/profile/stack_sampler.h: a sampling profiler of this process: where its threads are,
// many times a second, with their Lua lines and native functions in one stack.
//
// What a thread runs is seen by a timer of its processor time (host/worker/profile/thread_clock.h),
// which interrupts it by a signal; in the signal's handler it writes down its own stack
// (host/worker/profile/sample_slot.h). How long it has run, and how long it could have run and had
// no processor, is what the kernel counts. The rest of the time it has waited: where, it is asked
// for by the same signal, once for each wait, when the thread that calls tick() sees that it has
// run and has no processor. Answers are taken one tick later. So neither the load of the machine
// nor how soon a thread answers says what counts. Nothing is slowed between two samples, and
// nothing is done while no sampler is there. One at a time.
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

// What the sampling itself has taken of the processor, next to what the process has.
struct SamplingCost {
  double own_s = 0;      // of the sampling thread, and of all handlers
  double process_s = 0;  // of all threads, with that
};

class StackSampler {
 public:
  // is_idle_wanted: also threads other than the main one while they wait.
  explicit StackSampler(bool is_idle_wanted);
  ~StackSampler();
  StackSampler(const StackSampler&) = delete;
  StackSampler& operator=(const StackSampler&) = delete;

  // The interval is that until the next tick, and of the processor time between two samples of a
  // thread. Throws Error(kEnvironment) where there can be no more timers.
  void tick(double interval_s);
  int64_t num_samples() const { return samples_; }
  SamplingCost cost() const;
  // The samples, with names instead of addresses. Once, behind the last tick.
  profile::SampledStacks finish();

 private:
  struct Seen;
  struct Thread;
  using Stack = std::vector<int>;  // places in frames_

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
  nlink_t links_ = 0;  // of the folder of threads, when it was last looked at
  std::span<SampleSlot, kMaxSampleSlots> slots_;
  std::map<int, Thread> threads_;     // by tid
  std::vector<size_t> free_slots_;    // two for each thread
  std::map<std::string, Seen> seen_;  // by the threads' names
  std::vector<std::string> frames_;   // a key each: a Lua line, or an address
  std::unordered_map<std::string, int> numbers_;
  std::minstd_rand random_;
};

}  // namespace rtrain::worker
