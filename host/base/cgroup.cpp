#include "host/base/cgroup.h"

#include <fstream>
#include <iterator>

#include "host/base/text.h"

namespace rtrain {

// Lines of /proc/self/cgroup are "0::/path" (version 2) or "7:memory:/path" (version 1).
std::optional<std::string> cgroup_folder(std::string_view controller) {
  const std::string key = controller.empty() ? "0::" : cat(":", controller, ":");
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const size_t found = line.find(key);
    if (found == std::string::npos || (controller.empty() && found != 0)) continue;
    const std::string path = line.substr(found + key.size());
    const std::string folder = controller.empty() ? "" : cat("/", controller);
    return cat(kCgroupRoot, folder, path == "/" ? "" : path);
  }
  return std::nullopt;
}

std::string cgroup_text(const std::string& folder, std::string_view file) {
  std::ifstream text(cat(folder, "/", file));
  return {std::istreambuf_iterator<char>(text), {}};
}

}  // namespace rtrain
