// host/engine/profiler/function_events.h: a recording as a tree of calls with times and memory:
// PyTorch's prof.events(), and their averages, key_averages().
//
// Pure functions. As in torch/autograd/profiler_util.py, an event is the child of the event of its
// thread that spans it; a device's time belongs to the operator that launched the kernel; and an
// allocation or release counts for all operators running at that time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtrain::engine {

struct FunctionEvent {
  std::string name;
  std::string shapes;  // "[[2, 3], []]", if shapes were recorded
  std::vector<std::string> stack;
  uint64_t thread = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t id = 0;      // device events refer to it
  uint64_t linked = 0;  // the operator that launched a device event; 0 for operators
  uint64_t flops = 0;
  bool on_device = false;
  bool is_async = false;  // ends on another thread: it has no children
  bool is_annotation = false;
  bool is_line = false;  // a range with the Lua line of the operators in it

  // Filled in by link_events.
  int parent = -1;
  std::vector<int> children;
  int64_t kernels_ns = 0;
  int64_t device_ns = 0;  // includes the children's
  int64_t cpu_memory = 0;
  int64_t device_memory = 0;
  int64_t self_cpu_ns = 0;
  int64_t self_device_ns = 0;
  int64_t self_cpu_memory = 0;
  int64_t self_device_memory = 0;
};

// An allocation, or a release (negative).
struct MemoryRecord {
  int64_t time_ns = 0;
  int64_t bytes = 0;
  bool on_device = false;
};

// The events in the order of their starts, with parents and sums. Memory outside of all events gets
// events of its own, "[memory]". Ranges of lines are removed and become the stack of the events in
// them.
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
  size_t by_stack = 0;  // number of stack lines to group by
};

// In the order of the groups' first events.
std::vector<EventAverage> average_events(const std::vector<FunctionEvent>& events,
                                         const AverageGrouping& grouping);

}  // namespace rtrain::engine
