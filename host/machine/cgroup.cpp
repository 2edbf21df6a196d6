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

// Returns the number after a name at the beginning of a line of memory.stat.
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

// On machines with both versions, version 2's hierarchy is in a folder of its own.
std::string version_2_folder() {
  constexpr const char* kFolder = "/unified";
  return access(cat(kCgroupRoot, kFolder, "/cgroup.procs").c_str(), F_OK) == 0 ? kFolder : "";
}

}  // namespace

// Lines of /proc/self/cgroup are "0::/path" (version 2) or "7:memory:/path" (version 1).
std::optional<std::string> cgroup_folder(std::string_view controller) {
  const std::string key = controller.empty() ? "0::" : cat(":", controller, ":");
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const size_t found = line.find(key);
    if (found == std::string::npos || (controller.empty() && found != 0)) continue;
    const std::string path = line.substr(found + key.size());
    const std::string folder = controller.empty() ? version_2_folder() : cat("/", controller);
    return cat(kCgroupRoot, folder, path == "/" ? "" : path);
  }
  return std::nullopt;
}

std::vector<std::string> cgroup_folders(std::string_view controller) {
  std::vector<std::string> folders;
  std::string folder = cgroup_folder(controller).value_or("");
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

}  // namespace rtrain::machine
