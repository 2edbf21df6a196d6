// host/base/cuda_driver.h: NVIDIA's driver, asked through libcuda.so.1, which comes with it: which
// devices this process sees (CUDA_VISIBLE_DEVICES is the driver's own matter), or why none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtrain {

struct CudaDevice {
  std::string uuid;  // "GPU-" and 8-4-4-4-12 digits, as CUDA_VISIBLE_DEVICES takes it
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int64_t memory_bytes = 0;
};

struct CudaDriver {
  std::vector<CudaDevice> devices;  // number 0 is what this process calls 'cuda:0'
  std::string reason;  // why there are none: "no NVIDIA driver: libcuda.so.1 is not there"
};

// Starts the driver in this process, once; makes no context and so takes no memory of a device.
const CudaDriver& cuda_driver();

}  // namespace rtrain
