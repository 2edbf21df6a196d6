#include "host/node/series/gpu_series.h"

#include <optional>
#include <utility>

#include "host/base/text/text.h"

namespace rtrain::node {
namespace {

std::optional<double> own_bytes(const machine::GpuState& state, int pid) {
  for (const machine::GpuProcess& process : state.processes) {
    if (process.pid == pid && process.memory_bytes) {
      return static_cast<double>(*process.memory_bytes);
    }
  }
  return std::nullopt;
}

template <class T>
std::optional<double> number(const std::optional<T>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

}  // namespace

std::vector<store::SeriesChunk> GpuSeries::add(const Owner& owner, const machine::GpuState& state,
                                               int64_t time_ms) {
  const bool answers = state.used_bytes.has_value();
  const std::pair<const char*, std::optional<double>> values[] = {
      {"utilization_percent", number(state.utilization_percent)},
      {"memory_used_bytes", number(state.used_bytes)},
      {"memory_own_bytes", own_bytes(state, owner.pid)},
      {"power_w", state.power_w},
      {"temperature_c", number(state.temperature_c)},
      {"slowed", answers ? std::optional(state.slowed_by.empty() ? 0.0 : 1.0) : std::nullopt}};
  const std::string prefix = owner.place == 0 ? "gpu/" : cat("gpu/", owner.place, "/");
  std::vector<store::SeriesChunk> out;
  for (const auto& [name, value] : values) {
    if (!value) continue;
    out.push_back(chunks_.add(owner.rank, prefix + name, time_ms, *value));
  }
  return out;
}

}  // namespace rtrain::node
