// host/engine/cuda/allocator_api.h: functions of LibTorch's caching allocator of CUDA memory that
// c10::DeviceAllocator does not offer. They throw c10::Error.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <string>
#include <vector>

namespace rtrain::engine {

struct CudaAllocatorApi {
  // "native" or "cudaMallocAsync"
  std::string (*backend)() = nullptr;
  // The fraction of a device's memory that this process may allocate, 0 to 1.
  double (*memory_fraction)(int device) = nullptr;
  void (*set_memory_fraction)(double fraction, int device) = nullptr;
  // The segments that were allocated from the devices, and their blocks.
  std::vector<c10::CachingDeviceAllocator::SegmentInfo> (*segments)() = nullptr;
  // Sets, once, a function that the allocator calls before it allocates more memory from a device.
  // It runs on the allocating thread with the device's lock held and returns whether it freed
  // memory.
  void (*set_free_memory_callback)(bool (*callback)()) = nullptr;
};

}  // namespace rtrain::engine
