// host/engine/cuda/devices_api.h: the CUDA devices that this process sees. Any thread; the
// functions throw c10::Error.
#pragma once

#include <cstdint>
#include <string>

namespace rtrain::engine {

// The fields of torch.cuda.get_device_properties.
struct CudaDeviceProperties {
  std::string name;
  std::string uuid;  // 8-4-4-4-12 hexadecimal digits
  int major = 0;     // compute capability
  int minor = 0;
  int64_t total_memory = 0;
  int multi_processor_count = 0;
  int max_threads_per_multi_processor = 0;
  int regs_per_multiprocessor = 0;
  int64_t shared_memory_per_block = 0;
  int64_t l2_cache_size = 0;
  int warp_size = 0;
  bool is_integrated = false;
  bool is_multi_gpu_board = false;
};

struct CudaMemory {
  int64_t free_bytes = 0;
  int64_t total_bytes = 0;
};

struct CudaDevicesApi {
  // Number of devices that this process sees; 0 if the driver refuses.
  int (*count)() = nullptr;
  // The calling thread's current device.
  int (*current)() = nullptr;
  void (*set_current)(int device) = nullptr;
  CudaDeviceProperties (*properties)(int device) = nullptr;
  // Memory of the whole device, including other processes.
  CudaMemory (*memory)(int device) = nullptr;
  // Waits until the device has finished all work it was given.
  void (*synchronize)(int device) = nullptr;
};

}  // namespace rtrain::engine
