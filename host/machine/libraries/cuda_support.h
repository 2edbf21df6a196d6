// host/machine/libraries/cuda_support.h: whether tensors can live on a GPU in a process of this
// executable, and if not, why. Pure.
#pragma once

#include <optional>
#include <string>

#include "host/machine/libraries/cuda_driver.h"
#include "host/machine/libraries/libtorch.h"

namespace rtrain::machine {

struct CudaSupport {
  int devices = 0;
  std::string reason;   // why there are no devices
  std::string library;  // LibTorch's CUDA library, if there are devices
};

struct CudaFacts {
  CudaDriver driver;
  std::optional<LibTorch> libtorch;
  bool has_library = false;  // libtorch_cuda.so is next to libtorch_cpu.so
  bool is_built = false;     // the executable has a librtrain_cuda.so for this LibTorch
};

// The reason is the first obstacle, in this order: driver, LibTorch, this build.
CudaSupport judge_cuda(const CudaFacts& facts);

}  // namespace rtrain::machine
