// host/machine/memory_pressure.h: calls a function when memory is short: when processes of this
// machine, or of this process's cgroup, have waited for memory for a tenth of two seconds.
//
// The kernel tells (pressure stall information); where it does not, nothing is ever called.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "host/base/fd.h"

namespace rtrain {

class MemoryPressure {
 public:
  // Those of the machine and of the cgroup that there are. Never throws.
  static std::vector<Fd> open_triggers();

  // A trigger has a priority event (POLLPRI) when memory is short. The function runs on a thread of
  // its own, not again within ten seconds. Without triggers there is no thread.
  MemoryPressure(std::vector<Fd> triggers, std::function<void()> on_pressure);
  ~MemoryPressure();
  MemoryPressure(const MemoryPressure&) = delete;
  MemoryPressure& operator=(const MemoryPressure&) = delete;

 private:
  void watch();

  const std::vector<Fd> triggers_;
  const std::function<void()> on_pressure_;
  Fd ended_;
  std::thread thread_;
};

// Gives the kernel back what the allocator keeps for later. False: another allocator is in use,
// which keeps little. Any thread.
bool give_back_cached_memory();

}  // namespace rtrain
