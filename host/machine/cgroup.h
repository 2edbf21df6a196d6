// host/machine/cgroup.h: the folders of a process's cgroup, and limits in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::machine {

constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

// Returns the folder in version 2's hierarchy, or, with a name ("memory"), in the hierarchy of that
// controller of version 1. Nothing if the machine does not have that hierarchy. `pid`: of the
// process; 0: this one.
std::optional<std::string> cgroup_folder(std::string_view controller = {}, int pid = 0);

// Returns the folders of the cgroup and its parents, innermost first: limits of all of them hold.
std::vector<std::string> cgroup_folders(std::string_view controller = {}, int pid = 0);

// Returns the text of the folder's file of that name; "" if it does not exist.
std::string cgroup_text(const std::string& folder, std::string_view file);

// Returns the memory that the processes of a folder may still take: its limit less the memory in
// use, without page cache that can be dropped; of swap, at most `swap_free`. It reads either
// version's files. Nothing if the folder sets no limit.
std::optional<int64_t> cgroup_free_memory(const std::string& folder, int64_t swap_free);

// A limit on processor time. The kernel counts its periods, of 100 ms, and those in which the
// group's threads had used their time up and had to wait.
struct CpuLimit {
  double cores = 0;
  uint64_t periods = 0;
  uint64_t throttled = 0;
};

// Returns the lowest limit of these folders, of either version. Nothing if none has one.
std::optional<CpuLimit> cpu_limit(const std::vector<std::string>& folders);
// That of a process.
std::optional<CpuLimit> cpu_limit_of(int pid);

}  // namespace rtrain::machine
