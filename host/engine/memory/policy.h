// host/engine/memory/policy.h: pure decisions on when Lua's garbage collector runs because of
// tensor memory.
//
// A device's ceiling is the number of live bytes at which a full collection pays off. It rises
// after a full collection that freed little, and falls with the live bytes. Several threads may use
// it; they may then collect once too often.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace rtrain::engine {

class Ceiling {
 public:
  static constexpr int64_t kSmallest = int64_t{256} << 20;

  // Whether `live` bytes require a full collection. `limit` is the device's memory, 0 if unknown:
  // from four fifths of it on, garbage is always collected.
  bool is_passed(int64_t live, int64_t limit) {
    const int64_t ceiling = bytes_.load(std::memory_order_relaxed);
    if (live > ceiling) return true;
    bytes_.store(std::min(ceiling, above(live, limit)), std::memory_order_relaxed);
    return false;
  }

  // Sets the ceiling after a full collection that left `live` bytes.
  void settle(int64_t live, int64_t limit) { bytes_.store(above(live, limit)); }

  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  // Leaves half as much again above the live bytes, so that collections stay rare compared to
  // allocations.
  static int64_t above(int64_t live, int64_t limit) {
    const int64_t room = live + std::max(live / 2, kSmallest / 2);
    const int64_t most = limit > 0 ? limit / 5 * 4 : room;
    return std::max(kSmallest, std::min(room, std::max(most, live + live / 16)));
  }

  std::atomic<int64_t> bytes_{kSmallest};
};

// How many bytes of a device of this size a thread allocates before it triggers collector steps.
// Training steps allocate and free gigabytes on a device, and the end of the step collects too.
constexpr int64_t device_collection_bytes(int64_t total) {
  return std::clamp(total / 64, int64_t{64} << 20, int64_t{1} << 30);
}

// Whether to collect garbage before a device's allocator takes more memory from the device: if
// little is left, and enough was allocated since the last collection that there may be
// garbage.
class FreeMemoryRule {
 public:
  // `live` bytes of `total` are held by tensors; `taken` is the sum of all allocations so far.
  bool is_worth(int64_t live, int64_t total, int64_t taken) {
    if (total <= 0 || live <= total / 5 * 4) return false;
    if (has_collected_ && taken - taken_ < total / 64) return false;
    has_collected_ = true;
    taken_ = taken;
    return true;
  }

 private:
  bool has_collected_ = false;
  int64_t taken_ = 0;  // at the last collection
};

// When to ask the machine for its free memory before a CPU allocation. The kernel grants any
// request and kills the process when it uses memory that does not exist. Asking takes as long as
// filling some hundred KiB, so small requests compared to the free memory are not checked.
class AdmissionRule {
 public:
  // `live`: bytes currently held by tensors.
  bool must_ask(int64_t size, int64_t live) const {
    return size >= kLarge || live + size > granted_.load(std::memory_order_relaxed);
  }

  // Whether `size` bytes may be allocated if `free` bytes are left.
  bool admits(int64_t size, int64_t live, int64_t free) {
    if (size > free) return false;
    granted_.store(live + size + std::clamp((free - size) / 8, kSmall, kLarge),
                   std::memory_order_relaxed);
    return true;
  }

  // The machine's `free` bytes, corrected for this process: memory of freed tensors that is still
  // `resident` can be reused; memory of live tensors that was not written yet will still be
  // needed.
  static int64_t own_free(int64_t free, int64_t resident, int64_t live, int64_t peak) {
    return free + std::min(resident - live, peak - live);
  }

 private:
  static constexpr int64_t kSmall = int64_t{16} << 20, kLarge = int64_t{1} << 30;
  std::atomic<int64_t> granted_{int64_t{64} << 20};
};

// Whether a training step ends with a full collection: if that takes at most a hundredth of the
// step.
class StepBoundary {
 public:
  using Duration = std::chrono::nanoseconds;

  // `step`: time since the previous boundary; zero at the first one.
  bool is_worth(Duration step) {
    if (++since_ >= kRetry) return true;  // the cost may have changed
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

}  // namespace rtrain::engine
