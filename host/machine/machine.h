// host/machine/machine.h: what this machine offers: cores and memory. host/machine/libraries/nvml.h
// tells of its GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtrain {

std::string hostname();

// Cores that this process may use: its affinity mask, less what a cgroup's quota takes away; at
// least 1.
int available_cores();
// The processors of the affinity mask, where no quota makes some of them unusable; else none.
std::vector<int> own_processors();

// Memory this process may use: the machine's, or the cgroup's limit where that is lower.
int64_t memory_bytes();
// Memory that could be taken now without swapping: what the machine has left, or the cgroup where
// that is less.
int64_t available_memory_bytes();
// The same and what could be swapped out.
int64_t free_memory_bytes();

}  // namespace rtrain
