// host/base/machine.h: what this machine offers: cores, memory, GPUs. Loads no CUDA library but the
// driver's own management library, and that only for gpus().
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
// Memory that could be taken now without swapping.
int64_t available_memory_bytes();

struct Gpu {
  int64_t index = 0;
  std::string name;
  int64_t memory_bytes = 0;
};

struct GpuSearch {
  std::vector<Gpu> gpus;
  std::string driver;  // the driver's version; empty without one
  std::string reason;  // why there are none; empty when there are some
};

GpuSearch find_gpus();

}  // namespace rtrain
