// host/profile/sampled_stacks.h: what a sampling profiler has seen of a process: for each thread
// its stacks, and how long it was in each.
//
// As JSON they are a file of speedscope.app, with a "sampled" profile for each thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"

namespace rtrain::profile {

// The innermost frame of a thread that waits, in the place of a function.
inline constexpr std::string_view kWaiting = "(waiting)";
// The only frame of one that could have run while others had the processors.
inline constexpr std::string_view kNoProcessor = "(no processor)";

struct StackFrame {
  std::string name = {};  // of a function; "" of a Lua function whose name is not known
  std::string file = {};  // of the Lua code, or the library's name
  int64_t line = 0;       // 0: a native function

  bool operator==(const StackFrame& other) const = default;
  // "forward (train.lua:12)", "train.lua:12", "at::native::mm"
  std::string text() const;
};

struct WeightedStack {
  std::vector<int> frames = {};  // places in SampledStacks::frames, the outermost first
  double seconds = 0;
};

struct ThreadStacks {
  std::string name;
  std::vector<WeightedStack> stacks;
};

struct SampledStacks {
  std::string name;  // "digits, rank 0"
  std::vector<StackFrame> frames;
  std::vector<ThreadStacks> threads;

  double seconds() const;
  // Of these: without a processor.
  double starved_s() const;
  // Adds the threads of another one, with its name before theirs.
  void add(const SampledStacks& other);
};

Value to_speedscope(const SampledStacks& stacks);
// Throws Error(kArgument) for another document.
SampledStacks from_speedscope(const Value& document);

// As flamegraph.pl reads them: "main;train.lua:12;at::native::mm 120", a
// line for each stack, with its milliseconds.
std::string to_folded(const SampledStacks& stacks);

// A Lua line and the time that stacks had it. A line of the script is charged with what it has
// called of rtrain's modules and of native functions; a line of a module where no script has
// called.
struct LineTime {
  StackFrame frame;
  double self_s = 0;     // charged to it
  double total_s = 0;    // also what other lines of the script did that it has called
  double waiting_s = 0;  // of self_s
};
// The hottest first.
std::vector<LineTime> hottest_lines(const SampledStacks& stacks);

}  // namespace rtrain::profile
