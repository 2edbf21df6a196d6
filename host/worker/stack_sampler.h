// host/worker/stack_sampler.h: a sampling profiler of this process: where its threads are, many
// times a second, with their Lua lines and native functions in one stack.
//
// The thread that calls tick() interrupts those threads that have run since the tick before, by a
// signal in whose handler each writes down its own stack (host/worker/native_stack.h,
// lua_stack.h), and takes what they have written one tick later. A thread that sleeps is left
// alone: it is where it was. Nothing is slowed between two samples, and nothing is done while no
// sampler is there. One at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/base/sampled_stacks.h"
#include "host/machine/native_symbols.h"

namespace rtrain {

struct SampleSlot;

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

  // At a time of the monotonic clock.
  void tick(double now_s);
  int64_t num_samples() const { return samples_; }
  SamplingCost cost() const;
  // What was seen, with names instead of addresses. Once, behind the last tick.
  SampledStacks finish();

 private:
  struct Seen;
  struct Thread;
  using Stack = std::vector<int>;  // places in frames_

  void list_threads(double now_s);
  void look(Thread& thread, double now_s);
  bool take(Thread& thread);
  void ask(Thread& thread);
  void add_waiting(Thread& thread, double seconds);
  Stack stack_of(const SampleSlot& slot);
  int frame_number(std::string key);
  std::vector<NativeSymbol> symbols() const;
  std::vector<int> name_frames(SampledStacks& out) const;

  bool is_idle_wanted_;
  int64_t ticks_ = 0;
  int64_t samples_ = 0;
  double handlers_s_ = 0;
  double begun_own_s_ = 0;
  double begun_process_s_ = 0;
  nlink_t links_ = 0;              // of the folder of threads, when it was last looked at
  std::map<int, Thread> threads_;  // by tid
  std::vector<int> free_slots_;
  std::map<std::string, Seen> seen_;  // by the threads' names
  std::vector<std::string> frames_;   // a key each: a Lua line, or an address
  std::unordered_map<std::string, int> numbers_;
};

}  // namespace rtrain
