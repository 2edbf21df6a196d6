// host/pages/shared_flag.h: a flag in shared memory. One process sets and clears it, others can
// wait until it is clear.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rtrain::pages {

class SharedFlag {
 public:
  bool is_set() const { return word_.load(std::memory_order_acquire) != 0; }
  void set() { word_.store(1, std::memory_order_release); }
  // Clears the flag and wakes the threads that wait.
  void clear();
  // Waits until it is clear or the time has passed. May return earlier without a reason.
  void wait_while_set(std::chrono::milliseconds timeout) const;

 private:
  std::atomic<uint32_t> word_{0};
};

}  // namespace rtrain::pages
