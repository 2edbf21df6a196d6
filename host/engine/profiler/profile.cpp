#include "host/engine/profiler/profile.h"

#include <kineto/ActivityType.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/runtime/line_range.h"

namespace rtrain::engine {
namespace {

using torch::autograd::profiler::KinetoEvent;

constexpr std::string_view kMemory = "[memory]";
constexpr std::string_view kOutOfMemory = "[OutOfMemory]";
constexpr std::string_view kStep = "ProfilerStep#";

// Events that PyTorch leaves out too.
bool is_left_out(std::string_view name) {
  constexpr std::string_view kNames[] = {"profiler::_record_function_enter",
                                         "profiler::_record_function_enter_new",
                                         "profiler::_record_function_exit",
                                         "aten::is_leaf",
                                         "aten::output_nr",
                                         "aten::_version"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// "[[2, 3], []]", as Python prints a list.
std::string shapes_text(const KinetoEvent& event) {
  std::vector<std::string> shapes;
  for (const std::vector<int64_t>& shape : event.shapes()) {
    std::vector<std::string> sizes;
    for (const int64_t size : shape) sizes.push_back(std::to_string(size));
    shapes.push_back(cat("[", join(sizes, ", "), "]"));
  }
  return cat("[", join(shapes, ", "), "]");
}

bool is_annotation(const KinetoEvent& event) {
  const auto type = static_cast<libkineto::ActivityType>(event.activityType());
  return type == libkineto::ActivityType::USER_ANNOTATION ||
         type == libkineto::ActivityType::GPU_USER_ANNOTATION;
}

FunctionEvent function_event(const KinetoEvent& event) {
  FunctionEvent out;
  out.name = event.name();
  out.is_line = out.name.starts_with(kLinePrefix);
  if (out.is_line) out.name.erase(0, kLinePrefix.size());
  if (out.name.starts_with(kStep)) out.name = "ProfilerStep*";
  out.shapes = shapes_text(event);
  out.thread = event.startThreadId();
  out.start_ns = static_cast<int64_t>(event.startNs());
  out.end_ns = static_cast<int64_t>(event.endNs());
  out.id = event.correlationId();
  out.linked = event.linkedCorrelationId();
  out.flops = event.flops();
  out.on_device = event.deviceType() != c10::DeviceType::CPU;
  out.is_async = event.isAsync() || event.startThreadId() != event.endThreadId();
  out.is_annotation = is_annotation(event);
  return out;
}

// LibTorch only logs that a file cannot be written, so it is checked here.
void check_writable(const std::string& path) {
  const std::ofstream file(path, std::ios::app);
  if (file) return;
  throw Error(Code::kArgument,
              cat("the trace cannot be written to '", path, "': ", std::strerror(errno)));
}

}  // namespace

Profile::Profile(OwnedProfilerResult result) : result_(std::move(result)) {}

int64_t Profile::begin_ns() const { return static_cast<int64_t>(result_->trace_start_ns()); }

int64_t Profile::num_events() const { return static_cast<int64_t>(result_->events().size()); }

void Profile::save(const std::string& path) {
  if (is_saved_) {
    throw Error(Code::kArgument,
                "this trace was written before: LibTorch gives it away once. Copy that file");
  }
  check_writable(path);
  result_->save(path);
  is_saved_ = true;
}

const std::vector<FunctionEvent>& Profile::events() {
  if (is_linked_) return events_;
  std::vector<MemoryRecord> memory;
  std::vector<FunctionEvent> events;
  for (const KinetoEvent& event : result_->events()) {
    const std::string name = event.name();
    if (name == kMemory) {
      memory.push_back({static_cast<int64_t>(event.startNs()), event.nBytes(),
                        event.deviceType() != c10::DeviceType::CPU});
    } else if (name != kOutOfMemory && !is_left_out(name) && !event.isHiddenEvent()) {
      events.push_back(function_event(event));
    }
  }
  events_ = link_events(std::move(events), std::move(memory));
  is_linked_ = true;
  return events_;
}

}  // namespace rtrain::engine
