// host/machine/memory_pressure.h: calls a function when memory is short: when processes of this
// machine, or of this process's cgroup, have waited for memory for a tenth of two seconds.
//
// The kernel tells (pressure stall information); where it does not, nothing is ever called.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "host/base/files/fd.h"

namespace rtrain::machine {

class MemoryPressure {
 public:
  // Those of the machine and of the cgroup that there are. Never throws.
  static std::vector<Fd> open_triggers();

  // All on a thread of its own: it opens the triggers after the delay, since the kernel takes some
  // 15 ms to close one, which a short run need not pay. A trigger has a priority event (POLLPRI)
  // when memory is short; the function is not called again within ten seconds.
  MemoryPressure(std::function<std::vector<Fd>()> open, std::chrono::milliseconds delay,
                 std::function<void()> on_pressure);
  ~MemoryPressure();
  MemoryPressure(const MemoryPressure&) = delete;
  MemoryPressure& operator=(const MemoryPressure&) = delete;

 private:
  void watch();
  bool ends_within(std::chrono::milliseconds time) const;

  const std::function<std::vector<Fd>()> open_;
  const std::chrono::milliseconds delay_;
  const std::function<void()> on_pressure_;
  Fd ended_;
  std::thread thread_;
};

// Gives the kernel back the memory that the allocator keeps for later. False: another allocator is
// in use, which keeps little. Any thread.
bool give_back_cached_memory();

}  // namespace rtrain::machine
