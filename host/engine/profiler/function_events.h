// host/engine/profiler/function_events.h: what a recording holds, as a tree of calls with times and
// memory: the events of PyTorch's prof.events(), and their sums, key_averages().
//
// Pure. As in torch/autograd/profiler_util.py: an event is the child of another one of its thread
// that spans it, a device's time counts for the operator that has launched it, and memory for all
// operators that run as it is taken or given back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtrain {

struct FunctionEvent {
  std::string name;
  std::string shapes;  // "[[2, 3], []]", where they were recorded
  std::vector<std::string> stack;
  uint64_t thread = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t id = 0;      // what a device's events refer to
  uint64_t linked = 0;  // the operator that has launched it; 0 for an operator
  uint64_t flops = 0;
  bool on_device = false;
  bool is_async = false;  // ends on another thread: it has no children
  bool is_annotation = false;
  bool is_line = false;  // a range that tells the Lua line of the operators in it

  // Filled in by link_events.
  int parent = -1;
  std::vector<int> children;
  int64_t kernels_ns = 0;
  int64_t device_ns = 0;  // with the children's
  int64_t cpu_memory = 0;
  int64_t device_memory = 0;
  int64_t self_cpu_ns = 0;
  int64_t self_device_ns = 0;
  int64_t self_cpu_memory = 0;
  int64_t self_device_memory = 0;
};

// Memory that was taken, or given back (negative).
struct MemoryRecord {
  int64_t time_ns = 0;
  int64_t bytes = 0;
  bool on_device = false;
};

// The events in the order of their starts, with parents and sums; memory that no event spans has
// events of its own, "[memory]". Ranges of lines are gone: they are the stack of what was in them.
std::vector<FunctionEvent> link_events(std::vector<FunctionEvent> events,
                                       std::vector<MemoryRecord> memory);

struct EventAverage {
  std::string key;
  std::string shapes;
  std::vector<std::string> stack;
  int64_t count = 0;
  int64_t cpu_ns = 0;
  int64_t device_ns = 0;
  int64_t self_cpu_ns = 0;
  int64_t self_device_ns = 0;
  int64_t cpu_memory = 0;
  int64_t device_memory = 0;
  int64_t self_cpu_memory = 0;
  int64_t self_device_memory = 0;
  uint64_t flops = 0;
  bool on_device = false;
  bool is_async = false;
  bool is_annotation = false;
};

struct AverageGrouping {
  bool by_shape = false;
  size_t by_stack = 0;  // that many lines of it
};

// In the order in which their first events began.
std::vector<EventAverage> average_events(const std::vector<FunctionEvent>& events,
                                         const AverageGrouping& grouping);

}  // namespace rtrain
