#include "host/cuda/allocator.h"

#include <c10/cuda/CUDACachingAllocator.h>

#include <atomic>

namespace {

std::atomic<bool (*)()> free_memory{nullptr};

class FreeMemory final : public c10::FreeMemoryCallback {
 public:
  bool Execute() override {
    bool (*const callback)() = free_memory.load(std::memory_order_acquire);
    return callback != nullptr && callback();
  }
};

}  // namespace

namespace c10 {
REGISTER_FREE_MEMORY_CALLBACK(rtrain_free_memory, FreeMemory);
}  // namespace c10

namespace rtrain::cuda {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;

std::string backend() { return caching::get()->name(); }

double memory_fraction(int device) {
  return caching::getMemoryFraction(static_cast<c10::DeviceIndex>(device));
}

void set_memory_fraction(double fraction, int device) {
  caching::setMemoryFraction(fraction, static_cast<c10::DeviceIndex>(device));
}

std::vector<c10::CachingDeviceAllocator::SegmentInfo> segments() {
  return caching::get()->snapshot({0, 0}, /*include_traces=*/false).segments;
}

void set_free_memory_callback(bool (*callback)()) { free_memory.store(callback); }

}  // namespace

engine::CudaAllocatorApi cuda_allocator_api() {
  return {.backend = &backend,
          .memory_fraction = &memory_fraction,
          .set_memory_fraction = &set_memory_fraction,
          .segments = &segments,
          .set_free_memory_callback = &set_free_memory_callback};
}

}  // namespace rtrain::cuda
