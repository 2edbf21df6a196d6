#include "host/machine/cgroup.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

// Version 1 writes this number instead of "max".
constexpr int64_t kNoLimit = int64_t{1} << 62;

std::optional<int64_t> number_in(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number >= kNoLimit) return std::nullopt;
  return number;
}

// Returns the number after a name at the beginning of a line of memory.stat or cpu.stat.
int64_t statistic(const std::string& text, std::string_view name) {
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with(cat(name, " ")))
      return number_in(line.substr(name.size() + 1)).value_or(0);
  }
  return 0;
}

int64_t free_swap(const std::string& folder, int64_t swap_free) {
  const auto limit = number_in(cgroup_text(folder, "memory.swap.max"));
  if (!limit) return swap_free;
  const int64_t used = number_in(cgroup_text(folder, "memory.swap.current")).value_or(0);
  return std::clamp<int64_t>(*limit - used, 0, swap_free);
}

// "40000 100000" in version 2; two files in version 1, where -1 means none. Returns 0 without one.
double limited_cores(const std::string& folder) {
  std::vector<std::string> both = split(trim(cgroup_text(folder, "cpu.max")), ' ');
  if (both.size() != 2) {
    both = {cgroup_text(folder, "cpu.cfs_quota_us"), cgroup_text(folder, "cpu.cfs_period_us")};
  }
  const auto quota = number_in(both[0]);
  const auto period = number_in(both[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) return 0;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// On machines with both versions, version 2's hierarchy is in a folder of its own.
std::string version_2_folder() {
  constexpr const char* kFolder = "/unified";
  return access(cat(kCgroupRoot, kFolder, "/cgroup.procs").c_str(), F_OK) == 0 ? kFolder : "";
}

}  // namespace

// Lines of /proc/PID/cgroup are "0::/path" (version 2) or "7:memory:/path" (version 1).
std::optional<std::string> cgroup_folder(std::string_view controller, int pid) {
  const std::string key = controller.empty() ? "0::" : cat(":", controller, ":");
  std::ifstream lines(cat("/proc/", pid == 0 ? "self" : std::to_string(pid), "/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t found = line.find(key);
    if (found == std::string::npos || (controller.empty() && found != 0)) continue;
    const std::string path = line.substr(found + key.size());
    const std::string folder = controller.empty() ? version_2_folder() : cat("/", controller);
    return cat(kCgroupRoot, folder, path == "/" ? "" : path);
  }
  return std::nullopt;
}

std::vector<std::string> cgroup_folders(std::string_view controller, int pid) {
  std::vector<std::string> folders;
  std::string folder = cgroup_folder(controller, pid).value_or("");
  for (; folder.size() >= kCgroupRoot.size(); folder.resize(folder.rfind('/'))) {
    folders.push_back(folder);
  }
  return folders;
}

std::string cgroup_text(const std::string& folder, std::string_view file) {
  std::ifstream text(cat(folder, "/", file));
  return {std::istreambuf_iterator<char>(text), {}};
}

std::optional<int64_t> cgroup_free_memory(const std::string& folder, int64_t swap_free) {
  const std::string stat = cgroup_text(folder, "memory.stat");
  if (const auto limit = number_in(cgroup_text(folder, "memory.max"))) {
    const int64_t used = number_in(cgroup_text(folder, "memory.current")).value_or(0);
    const int64_t cache = statistic(stat, "inactive_file") + statistic(stat, "active_file");
    return std::max<int64_t>(*limit - used + cache, 0) + free_swap(folder, swap_free);
  }
  if (const auto limit = number_in(cgroup_text(folder, "memory.limit_in_bytes"))) {
    const int64_t used = number_in(cgroup_text(folder, "memory.usage_in_bytes")).value_or(0);
    const int64_t cache =
        statistic(stat, "total_inactive_file") + statistic(stat, "total_active_file");
    return std::max<int64_t>(*limit - used + cache, 0) + swap_free;
  }
  return std::nullopt;
}

std::optional<CpuLimit> cpu_limit(const std::vector<std::string>& folders) {
  std::optional<CpuLimit> out;
  for (const std::string& folder : folders) {
    const double cores = limited_cores(folder);
    if (cores <= 0 || (out && out->cores <= cores)) continue;
    const std::string stat = cgroup_text(folder, "cpu.stat");
    out = CpuLimit{.cores = cores,
                   .periods = static_cast<uint64_t>(statistic(stat, "nr_periods")),
                   .throttled = static_cast<uint64_t>(statistic(stat, "nr_throttled"))};
  }
  return out;
}

std::optional<CpuLimit> cpu_limit_of(int pid) {
  std::vector<std::string> folders = cgroup_folders({}, pid);
  for (std::string& folder : cgroup_folders("cpu", pid)) folders.push_back(std::move(folder));
  return cpu_limit(folders);
}

}  // namespace rtrain::machine
