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

struct CudaKernelsApi {
  // `image`: PTX, or code of the device.
  std::unique_ptr<CudaKernels> (*load)(int device, const std::string& image) = nullptr;
  std::string (*architecture)(int device) = nullptr;  // "sm_90"
  int (*multiprocessors)(int device) = nullptr;
};

}  // namespace rtrain::engine
