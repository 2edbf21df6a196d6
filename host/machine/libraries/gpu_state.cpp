#include "host/machine/libraries/gpu_state.h"

#include <optional>

namespace rtrain::machine {
namespace {

template <class T>
Value or_nil(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

}  // namespace

Map describe_gpu_state(const GpuState& state) {
  List processes;
  for (const GpuProcess& process : state.processes) {
    processes.emplace_back(
        Map{{"pid", process.pid}, {"memory_bytes", or_nil(process.memory_bytes)}});
  }
  return {{"used_bytes", or_nil(state.used_bytes)},
          {"utilization_percent", or_nil(state.utilization_percent)},
          {"power_w", or_nil(state.power_w)},
          {"power_limit_w", or_nil(state.power_limit_w)},
          {"temperature_c", or_nil(state.temperature_c)},
          {"slowed_by", List(state.slowed_by.begin(), state.slowed_by.end())},
          {"processes", std::move(processes)}};
}

}  // namespace rtrain::machine
