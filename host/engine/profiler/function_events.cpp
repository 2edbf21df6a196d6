#include "host/engine/profiler/function_events.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rtrain::engine {
namespace {

using Events = std::vector<FunctionEvent>;

FunctionEvent& at(Events& events, int index) { return events[static_cast<size_t>(index)]; }

// Attributes calls of the device's runtime to the operator that made them, with the time of their
// kernels.
void link_device_events(Events& events) {
  std::unordered_map<uint64_t, FunctionEvent*> operators;
  for (FunctionEvent& event : events) {
    if (event.linked == 0 && !event.on_device && !event.is_async) operators[event.id] = &event;
  }
  for (FunctionEvent& event : events) {
    const auto found = event.linked == 0 ? operators.end() : operators.find(event.linked);
    if (found == operators.end()) continue;
    if (event.on_device) {
      found->second->kernels_ns += event.end_ns - event.start_ns;
    } else {
      event.thread = found->second->thread;
    }
  }
}

class MemoryIntervals {
 public:
  explicit MemoryIntervals(std::vector<MemoryRecord> records) : records_(std::move(records)) {
    std::stable_sort(records_.begin(), records_.end(),
                     [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
    sums_.resize(records_.size() + 1);
    covered_.resize(records_.size() + 1);
    for (size_t i = 0; i < records_.size(); ++i) {
      sums_[i + 1] = sums_[i];
      (records_[i].on_device ? sums_[i + 1].second : sums_[i + 1].first) += records_[i].bytes;
    }
  }

  // Adds the records between the event's start and end, both included.
  void add_to(FunctionEvent& event) {
    const auto by_time = [](const MemoryRecord& a, int64_t time_ns) { return a.time_ns < time_ns; };
    const auto place = [&](int64_t time_ns) {
      return static_cast<size_t>(
          std::lower_bound(records_.begin(), records_.end(), time_ns, by_time) - records_.begin());
    };
    const size_t first = place(event.start_ns);
    const size_t last = place(event.end_ns + 1);
    if (first >= last) return;
    event.cpu_memory = sums_[last].first - sums_[first].first;
    event.device_memory = sums_[last].second - sums_[first].second;
    ++covered_[first];
    --covered_[last];
  }

  void add_others(Events& events) const {
    int depth = 0;
    for (size_t i = 0; i < records_.size(); ++i) {
      depth += covered_[i];
      if (depth > 0) continue;
      FunctionEvent event;
      event.name = "[memory]";
      event.start_ns = event.end_ns = records_[i].time_ns;
      (records_[i].on_device ? event.device_memory : event.cpu_memory) = records_[i].bytes;
      events.push_back(std::move(event));
    }
  }

 private:
  std::vector<MemoryRecord> records_;
  std::vector<std::pair<int64_t, int64_t>> sums_;  // sums of the records before: cpu, device
  std::vector<int> covered_;  // difference of the number of covering events from the record before
};

// The events that can have parents and children, by thread.
std::map<uint64_t, std::vector<int>> by_thread(const Events& events) {
  std::map<uint64_t, std::vector<int>> out;
  for (size_t i = 0; i < events.size(); ++i) {
    if (!events[i].is_async && !events[i].on_device) {
      out[events[i].thread].push_back(static_cast<int>(i));
    }
  }
  return out;
}

void set_parents(Events& events) {
  for (const auto& [thread, indices] : by_thread(events)) {
    std::vector<int> open;
    for (const int index : indices) {
      FunctionEvent& event = at(events, index);
      while (!open.empty() && (event.start_ns >= at(events, open.back()).end_ns ||
                               event.end_ns > at(events, open.back()).end_ns)) {
        open.pop_back();
      }
      if (!open.empty()) event.parent = open.back();
      open.push_back(index);
    }
  }
}

// Ranges of lines are not calls: their children move to the range's parent.
void take_lines(Events& events) {
  for (FunctionEvent& event : events) {
    if (event.is_line) continue;
    for (int up = event.parent; up >= 0 && event.stack.empty(); up = at(events, up).parent) {
      if (at(events, up).is_line) event.stack.push_back(at(events, up).name);
    }
  }
  for (FunctionEvent& event : events) {
    while (event.parent >= 0 && at(events, event.parent).is_line) {
      event.parent = at(events, event.parent).parent;
    }
  }
}

void set_children(Events& events) {
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].parent >= 0) at(events, events[i].parent).children.push_back(static_cast<int>(i));
  }
}

// A call that only calls another one of the same name is merged with it.
void remove_doubles(Events& events, std::vector<bool>& gone) {
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < events.size(); ++i) {
      FunctionEvent& event = events[i];
      if (gone[i] || event.parent < 0) continue;
      FunctionEvent& parent = at(events, event.parent);
      if (parent.name != event.name || parent.children.size() != 1) continue;
      for (const int child : event.children) at(events, child).parent = event.parent;
      parent.children = std::move(event.children);
      parent.kernels_ns = event.kernels_ns;
      gone[i] = true;
      again = true;
    }
  }
}

// Iterates backwards, because children come after their parents.
void set_sums(Events& events) {
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    const int64_t elapsed = event->end_ns - event->start_ns;
    event->device_ns = event->on_device ? elapsed : event->kernels_ns;
    event->self_device_ns = event->device_ns;
    if (event->on_device || event->is_async) continue;
    event->self_cpu_ns = elapsed;
    event->self_cpu_memory = event->cpu_memory;
    event->self_device_memory = event->device_memory;
    for (const int index : event->children) {
      const FunctionEvent& child = at(events, index);
      event->device_ns += child.device_ns;
      event->self_cpu_ns -= child.end_ns - child.start_ns;
      event->self_cpu_memory -= child.cpu_memory;
      event->self_device_memory -= child.device_memory;
    }
  }
}

Events without(Events events, const std::vector<bool>& gone) {
  std::vector<int> moved(events.size(), -1);
  Events out;
  for (size_t i = 0; i < events.size(); ++i) {
    if (gone[i]) continue;
    moved[i] = static_cast<int>(out.size());
    out.push_back(std::move(events[i]));
  }
  for (FunctionEvent& event : out) {
    if (event.parent >= 0) event.parent = moved[static_cast<size_t>(event.parent)];
    for (int& child : event.children) child = moved[static_cast<size_t>(child)];
  }
  return out;
}

}  // namespace

std::vector<FunctionEvent> link_events(std::vector<FunctionEvent> events,
                                       std::vector<MemoryRecord> memory) {
  link_device_events(events);
  MemoryIntervals intervals(std::move(memory));
  for (FunctionEvent& event : events) {
    if (!event.on_device) intervals.add_to(event);
  }
  intervals.add_others(events);
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  set_parents(events);
  take_lines(events);
  std::vector<bool> gone(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    gone[i] = events[i].is_line;
    if (gone[i]) events[i].parent = -1;
  }
  set_children(events);
  remove_doubles(events, gone);
  events = without(std::move(events), gone);
  set_sums(events);
  return events;
}

std::vector<EventAverage> average_events(const std::vector<FunctionEvent>& events,
                                         const AverageGrouping& grouping) {
  using Key = std::tuple<std::string, bool, bool, std::string, std::vector<std::string>>;
  std::map<Key, size_t> places;
  std::vector<EventAverage> out;
  for (const FunctionEvent& event : events) {
    const size_t lines = std::min(grouping.by_stack, event.stack.size());
    EventAverage first{
        .key = event.name,
        .shapes = grouping.by_shape ? event.shapes : "",
        .stack = {event.stack.begin(), event.stack.begin() + static_cast<std::ptrdiff_t>(lines)},
        .on_device = event.on_device,
        .is_async = event.is_async,
        .is_annotation = event.is_annotation};
    const Key key{first.key, first.on_device, first.is_annotation, first.shapes, first.stack};
    const auto [place, is_new] = places.emplace(key, out.size());
    if (is_new) out.push_back(std::move(first));
    EventAverage& sum = out[place->second];
    ++sum.count;
    sum.cpu_ns += event.on_device ? 0 : event.end_ns - event.start_ns;
    sum.device_ns += event.device_ns;
    sum.self_cpu_ns += event.self_cpu_ns;
    sum.self_device_ns += event.self_device_ns;
    sum.cpu_memory += event.cpu_memory;
    sum.device_memory += event.device_memory;
    sum.self_cpu_memory += event.self_cpu_memory;
    sum.self_device_memory += event.self_device_memory;
    sum.flops += event.flops;
  }
  return out;
}

}  // namespace rtrain::engine
