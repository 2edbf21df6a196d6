// host/machine/memory_pressure.h: calls a function when memory is short: when processes of this
// machine, or of this process's cgroup, have waited for memory for a tenth of two seconds.
//
// The kernel reports it (pressure stall information). A kernel that does not never causes a call.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "host/base/files/fd.h"

namespace rtrain::machine {

class MemoryPressure {
 public:
  // Opens the triggers of the machine and of the cgroup that exist. Never throws.
  static std::vector<Fd> open_triggers();

  // Starts a thread, which opens the triggers after the delay and calls the function. The kernel
  // takes some 15 ms to close a trigger: the delay saves a short run that time. A trigger has a
  // priority event (POLLPRI) when memory is short. Calls are at least ten seconds apart.
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

// Returns to the kernel the memory that the allocator keeps for later. Returns false with another
// allocator than jemalloc, which keeps little. Any thread.
bool give_back_cached_memory();

// Lets the allocator keep that many more bytes for later, in pages that the kernel has given
// already. Ends early where `is_over` returns true, which is asked every few milliseconds. Does
// nothing with another allocator than jemalloc.
void cache_memory(int64_t bytes, const std::function<bool()>& is_over);

// Gives what the calling thread keeps for itself back to the allocator, for the call above.
void release_thread_cache();

}  // namespace rtrain::machine
