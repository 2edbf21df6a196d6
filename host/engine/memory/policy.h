// host/engine/memory/policy.h: when Lua's collector is made to run for the sake of tensor memory,
// as pure decisions.
//
// The ceiling of a device is where a full collection pays: it follows the live bytes up after a
// full collection that freed little, and down as they fall. Safe to use from several threads, which
// may then collect once too often.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace rtrain {

class Ceiling {
 public:
  static constexpr int64_t kSmallest = int64_t{256} << 20;

  // Whether `live` bytes ask for a full collection. `limit` is what the device has, 0 if unknown:
  // at four fifths of it garbage must go in any case.
  bool is_passed(int64_t live, int64_t limit) {
    const int64_t ceiling = bytes_.load(std::memory_order_relaxed);
    if (live > ceiling) return true;
    bytes_.store(std::min(ceiling, above(live, limit)), std::memory_order_relaxed);
    return false;
  }

  // What is live after the full collection.
  void settle(int64_t live, int64_t limit) { bytes_.store(above(live, limit)); }

  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  // Room for half as much again, so that collecting stays rare next to allocating.
  static int64_t above(int64_t live, int64_t limit) {
    const int64_t room = live + std::max(live / 2, kSmallest / 2);
    const int64_t most = limit > 0 ? limit / 5 * 4 : room;
    return std::max(kSmallest, std::min(room, std::max(most, live + live / 16)));
  }

  std::atomic<int64_t> bytes_{kSmallest};
};

// Whether a step of training ends with a full collection: when that takes at most a hundredth of
// the step.
class StepBoundary {
 public:
  using Duration = std::chrono::nanoseconds;

  // The time since the boundary before; zero at the first one.
  bool is_worth(Duration step) {
    if (++since_ >= kRetry) return true;  // what it costs may have changed
    return cost_ * 100 <= step;
  }

  void settle(Duration cost) {
    cost_ = cost;
    since_ = 0;
  }

 private:
  static constexpr int kRetry = 1000;
  Duration cost_{0};
  int since_ = 0;
};

}  // namespace rtrain
