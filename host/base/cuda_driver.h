// host/base/cuda_driver.h: NVIDIA's driver, asked through libcuda.so.1, which comes with it: how
// many devices this process sees (CUDA_VISIBLE_DEVICES is the driver's own matter), or why none.
#pragma once

#include <string>

namespace rtrain {

struct CudaDriver {
  int devices = 0;
  std::string reason;  // why there are none: "no NVIDIA driver: libcuda.so.1 is not there"
};

// Starts the driver in this process, once; makes no context and so takes no memory of a device.
const CudaDriver& cuda_driver();

}  // namespace rtrain
