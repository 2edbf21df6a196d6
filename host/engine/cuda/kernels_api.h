// host/engine/cuda/kernels_api.h: kernels that the engine has compiled itself, as
// librtrain_cuda.so loads and launches them.
//
// All functions throw c10::Error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace rtrain::engine {

// The functions of an image that is loaded on one device. It is unloaded with its owner.
class CudaKernels {
 public:
  virtual ~CudaKernels() = default;
  CudaKernels() = default;
  CudaKernels(const CudaKernels&) = delete;
  CudaKernels& operator=(const CudaKernels&) = delete;

  // Launches a function on the current stream of the device. `parameters`: the addresses of its
  // parameters.
  virtual void launch(const std::string& name, int64_t blocks, int threads, void** parameters) = 0;
};

// What a kernel needs to draw from the default generator of a device, as at::PhiloxCudaState: in a
// capture the addresses are not null.
struct CudaDraw {
  uint64_t seed = 0;
  uint64_t offset = 0;
  const int64_t* seed_at = nullptr;
  const int64_t* offset_at = nullptr;
};

struct CudaKernelsApi {
  // `image`: PTX, or code of the device.
  std::unique_ptr<CudaKernels> (*load)(int device, const std::string& image) = nullptr;
  std::string (*architecture)(int device) = nullptr;  // "sm_90"
  int (*multiprocessors)(int device) = nullptr;
  int (*threads_per_multiprocessor)(int device) = nullptr;
  // Moves the generator's offset by the increment.
  CudaDraw (*draw)(int device, uint64_t increment) = nullptr;
};

}  // namespace rtrain::engine
