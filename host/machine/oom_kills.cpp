#include "host/machine/oom_kills.h"

#include <sstream>
#include <string>

#include "host/machine/cgroup.h"

namespace rtrain::machine {
namespace {

// Returns the number in the text of a memory.events or memory.oom_control file.
std::optional<int64_t> oom_kills_in(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  int64_t count = 0;
  while (words >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> oom_kills() {
  if (const auto folder = cgroup_folder("memory")) {
    const auto found = oom_kills_in(cgroup_text(*folder, "memory.oom_control"));
    if (found) return found;
  }
  const auto folder = cgroup_folder();
  return folder ? oom_kills_in(cgroup_text(*folder, "memory.events")) : std::nullopt;
}

}  // namespace rtrain::machine
