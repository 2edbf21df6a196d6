#include "host/machine/libraries/nccl_settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rtrain::machine {
namespace {

struct Choice {
  const char* name;
  const char* other_name;  // LibTorch reads this name too
  const char* value;
  const char* why;
};

constexpr std::array<Choice, 5> kChoices = {{
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING", "0",
     "a worker is ended with the first cause, where LibTorch would abort it"},
    {"TORCH_NCCL_RETHROW_CUDA_ERRORS", "", "0",
     "the train function raises a CUDA error, where LibTorch would abort the worker"},
    {"TORCH_NCCL_DUMP_ON_TIMEOUT", "", "0",
     "the flight recorders of all ranks go to the diag folder of the run"},
    {"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE", "2000",
     "collectives that the flight recorder keeps"},
    {"NCCL_SOCKET_IFNAME", "", "lo", "all ranks are on this node, and NCCL asks nobody who he is"},
}};

bool is_ours(std::string_view name) {
  return name.starts_with("TORCH_NCCL_") || name.starts_with("NCCL_") ||
         name.starts_with("TORCH_FR_");
}

}  // namespace

std::vector<NcclSetting> nccl_settings(
    const std::vector<std::pair<std::string, std::string>>& environment) {
  const auto is_set = [&](std::string_view name) {
    return std::any_of(environment.begin(), environment.end(),
                       [&](const auto& each) { return each.first == name; });
  };
  std::vector<NcclSetting> out;
  for (const Choice& choice : kChoices) {
    if (is_set(choice.name) || is_set(choice.other_name)) continue;
    out.push_back({choice.name, choice.value, "rtrain", choice.why});
  }
  const size_t chosen = out.size();
  for (const auto& [name, value] : environment) {
    if (is_ours(name)) out.push_back({name, value, "environment", ""});
  }
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(chosen), out.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::vector<NcclSetting> nccl_settings() {
  std::vector<std::pair<std::string, std::string>> environment;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const size_t middle = entry.find('=');
    if (middle == std::string_view::npos) continue;
    environment.emplace_back(entry.substr(0, middle), entry.substr(middle + 1));
  }
  return nccl_settings(environment);
}

void apply_nccl_settings() {
  for (const NcclSetting& setting : nccl_settings()) {
    if (setting.set_by == "rtrain") setenv(setting.name.c_str(), setting.value.c_str(), 0);
  }
}

}  // namespace rtrain::machine
