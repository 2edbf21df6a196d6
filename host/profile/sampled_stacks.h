// host/profile/sampled_stacks.h: the result of a sampling profiler: for each thread of a process
// its stacks, and the time in each.
//
// As JSON it is a file for speedscope.app, with a "sampled" profile for each thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"

namespace rtrain::profile {

// The rate of samples unless the user asks for another one.
inline constexpr double kSamplesPerS = 100;
// The end of the name of a file with samples.
inline constexpr std::string_view kSamplesEnding = ".speedscope.json";
// The innermost frame of a thread that waits, in place of a function.
inline constexpr std::string_view kWaiting = "(waiting)";
// The only frame of a thread that was ready to run but had no processor.
inline constexpr std::string_view kNoProcessor = "(no processor)";

struct StackFrame {
  std::string name = {};  // of the function; "" for a Lua function with an unknown name
  std::string file = {};  // of the Lua code, or the library's name
  int64_t line = 0;       // 0: a native function

  bool operator==(const StackFrame& other) const = default;
  // "forward (train.lua:12)", "train.lua:12", "at::native::mm"
  std::string text() const;
};

struct WeightedStack {
  std::vector<int> frames = {};  // indices in SampledStacks::frames, the outermost first
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
  // The part of seconds() in which threads had no processor.
  double starved_s() const;
  // Adds the threads of `other`, with its name before theirs.
  void add(const SampledStacks& other);
};

Value to_speedscope(const SampledStacks& stacks);
// Throws Error(kArgument) for another document.
SampledStacks from_speedscope(const Value& document);

// The stacks for flamegraph.pl: one line for each, with its milliseconds:
// "main;train.lua:12;at::native::mm 120".
std::string to_folded(const SampledStacks& stacks);

// A Lua line and its time in the stacks. A line of the script is charged with the time of rtrain's
// modules and native functions that it has called. A line of a module is charged only where no line
// of the script has called it.
struct LineTime {
  StackFrame frame;
  double self_s = 0;     // charged to it
  double total_s = 0;    // with the lines of the script that it has called
  double waiting_s = 0;  // of self_s
};
// Returns the lines, sorted by self_s, the largest first.
std::vector<LineTime> hottest_lines(const SampledStacks& stacks);

}  // namespace rtrain::profile
