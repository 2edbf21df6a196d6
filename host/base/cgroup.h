// host/base/cgroup.h: the folders of this process's cgroup.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rtrain {

constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

// In version 2's hierarchy, or, with a name ("memory"), in that controller's own of version 1.
// Nothing where the machine has no such hierarchy.
std::optional<std::string> cgroup_folder(std::string_view controller = {});

// The folder's text file of that name; empty where there is none.
std::string cgroup_text(const std::string& folder, std::string_view file);

}  // namespace rtrain
