// host/machine/machine.h: the cores and memory of this machine. host/machine/libraries/nvml.h has
// its GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtrain::machine {

std::string hostname();

// The number of cores that this process may use: its affinity mask, limited by a cgroup's quota; at
// least 1.
int available_cores();
// The processors of the affinity mask; empty if a quota is below their number.
std::vector<int> own_processors();

// The memory that this process may use: the machine's, or the cgroup's limit if that is lower.
int64_t memory_bytes();
// The memory that could be taken now without swapping: what is free on the machine, or in the
// cgroup if that is less.
int64_t available_memory_bytes();
// The same, plus memory that could be swapped out.
int64_t free_memory_bytes();

}  // namespace rtrain::machine
