// host/machine/cgroup.h: the folders of this process's cgroup.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::machine {

constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

// In version 2's hierarchy, or, with a name ("memory"), in that controller's own of version 1.
// Nothing where the machine has no such hierarchy.
std::optional<std::string> cgroup_folder(std::string_view controller = {});

// Those of a group and its parents, from within: limits of all of them hold.
std::vector<std::string> cgroup_folders(std::string_view controller = {});

// The folder's text file of that name; empty where there is none.
std::string cgroup_text(const std::string& folder, std::string_view file);

// Memory that the processes of a folder may still take: its limit less the memory in use, page
// cache that can be dropped not counted; and of swap, at most `swap_free`. Either version's files.
// Nothing where the folder sets no limit.
std::optional<int64_t> cgroup_free_memory(const std::string& folder, int64_t swap_free);

}  // namespace rtrain::machine
