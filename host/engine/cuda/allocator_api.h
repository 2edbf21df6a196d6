// host/engine/cuda/allocator_api.h: LibTorch's caching allocator of CUDA memory, where c10's own
// interface of it (c10::DeviceAllocator) does not reach. The functions throw c10::Error.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <string>
#include <vector>

namespace rtrain {

struct CudaAllocatorApi {
  // "native" or "cudaMallocAsync"
  std::string (*backend)() = nullptr;
  // The part of a device's memory that this process may take, 0 to 1.
  double (*memory_fraction)(int device) = nullptr;
  void (*set_memory_fraction)(double fraction, int device) = nullptr;
  // What was taken from the devices, and the blocks that it is cut into.
  std::vector<c10::CachingDeviceAllocator::SegmentInfo> (*segments)() = nullptr;
  // A function that the allocator calls before it takes more memory from a device, on the thread
  // that needs it and with the device's lock held; it says whether it has freed any. Set once.
  void (*set_free_memory_callback)(bool (*callback)()) = nullptr;
};

}  // namespace rtrain
