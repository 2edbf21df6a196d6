// host/machine/machine.h: the cores and memory of this machine. host/machine/libraries/nvml.h
// tells of its GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtrain::machine {

std::string hostname();

// Cores that this process may use: its affinity mask, bounded by a cgroup's quota; at
// least 1.
int available_cores();
// The processors of the affinity mask, where no quota makes some of them unusable; else none.
std::vector<int> own_processors();

// Memory this process may use: the machine's, or the cgroup's limit where that is lower.
int64_t memory_bytes();
// Memory that could be taken now without swapping: the rest of the machine's, or of the cgroup's
// where that is less.
int64_t available_memory_bytes();
// The same and memory that could be swapped out.
int64_t free_memory_bytes();

}  // namespace rtrain::machine
