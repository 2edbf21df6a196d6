// host/pages/shared_flag.h: a flag in memory that processes share, and that one of them can wait
// for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rtrain::pages {

class SharedFlag {
 public:
  bool is_set() const { return word_.load(std::memory_order_acquire) != 0; }
  void set() { word_.store(1, std::memory_order_release); }
  // Wakes who waits.
  void clear();
  // Until it is cleared, or so long; also less, for no reason.
  void wait_while_set(std::chrono::milliseconds timeout) const;

 private:
  std::atomic<uint32_t> word_{0};
};

}  // namespace rtrain::pages
