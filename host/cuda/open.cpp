// The entry point of librtrain_cuda.so. LibTorch's CUDA library is in the process by then, with all
// its symbols global; nothing of the executable is used.
#include "host/cuda/devices.h"

extern "C" __attribute__((visibility("default"))) const rtrain::CudaApi* rtrain_cuda_api() {
  using namespace rtrain;
  static constexpr CudaApi kApi{.device_count = &cuda_device_count,
                                .current_device = &current_cuda_device,
                                .set_device = &set_cuda_device,
                                .properties = &cuda_device_properties,
                                .memory = &cuda_memory,
                                .synchronize = &synchronize_cuda};
  return &kApi;
}
