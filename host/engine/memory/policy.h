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

// How much of a device of this size a thread fills before it triggers collector steps. A device's
// tensors come and go by the gigabyte in each step of training, and the step's end collects too.
constexpr int64_t device_collection_bytes(int64_t total) {
  return std::clamp(total / 64, int64_t{64} << 20, int64_t{1} << 30);
}

// Whether a device's allocator, which is about to take more memory from it, has the garbage
// collected first: where little is left, and enough was allocated since the last time that there
// may be garbage.
class FreeMemoryRule {
 public:
  // `live` bytes of `total` are held by tensors; `taken` have been allocated in all.
  bool is_worth(int64_t live, int64_t total, int64_t taken) {
    if (total <= 0 || live <= total / 5 * 4) return false;
    if (has_collected_ && taken - taken_ < total / 64) return false;
    has_collected_ = true;
    taken_ = taken;
    return true;
  }

 private:
  bool has_collected_ = false;
  int64_t taken_ = 0;  // as the garbage was collected last
};

// When the machine is asked what memory it has left, before more of the CPU's is taken: the kernel
// grants any request and ends the process at its first use. Asking takes as long as filling some
// hundred KiB, so what is a small part of the rest goes by without.
class AdmissionRule {
 public:
  // `live` bytes are held by tensors now.
  bool must_ask(int64_t size, int64_t live) const {
    return size >= kLarge || live + size > granted_.load(std::memory_order_relaxed);
  }

  // Whether `size` bytes may be taken of `free` ones.
  bool admits(int64_t size, int64_t live, int64_t free) {
    if (size > free) return false;
    granted_.store(live + size + std::clamp((free - size) / 8, kSmall, kLarge),
                   std::memory_order_relaxed);
    return true;
  }

  // The machine's `free` bytes, corrected by what this process holds: memory that tensors had and
  // that is still `resident` may be used again; memory that they have and that was not written to
  // yet is still to be taken.
  static int64_t own_free(int64_t free, int64_t resident, int64_t live, int64_t peak) {
    return free + std::min(resident - live, peak - live);
  }

 private:
  static constexpr int64_t kSmall = int64_t{16} << 20, kLarge = int64_t{1} << 30;
  std::atomic<int64_t> granted_{int64_t{64} << 20};
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
