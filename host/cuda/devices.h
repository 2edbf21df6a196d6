// host/cuda/devices.h: the devices that this process sees. Any thread; throws c10::Error.
#pragma once

#include "host/engine/cuda/api.h"

namespace rtrain {

int cuda_device_count();
int current_cuda_device();
void set_cuda_device(int device);
CudaDeviceProperties cuda_device_properties(int device);
CudaMemory cuda_memory(int device);
void synchronize_cuda(int device);

}  // namespace rtrain
