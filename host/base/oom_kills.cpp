#include "host/base/oom_kills.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "host/base/text.h"

namespace rtrain {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::optional<int64_t> oom_kills_in(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  int64_t count = 0;
  while (words >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return std::nullopt;
}

// Lines of /proc/self/cgroup are "0::/path" (version 2) or "7:memory:/path" (version 1).
std::optional<int64_t> oom_kills() {
  std::istringstream lines(read_text("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t path = line.rfind(':') + 1;
    const bool is_first = line.find(":memory:") != std::string::npos;
    if (!is_first && !line.starts_with("0::")) continue;
    const std::string folder = cat("/sys/fs/cgroup", is_first ? "/memory" : "", line.substr(path));
    const auto found =
        oom_kills_in(read_text(folder + (is_first ? "/memory.oom_control" : "/memory.events")));
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace rtrain
