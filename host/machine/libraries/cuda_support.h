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
  std::string reason;   // why there are none
  std::string library;  // LibTorch's CUDA library, where there are some
};

struct CudaFacts {
  CudaDriver driver;
  std::optional<LibTorch> libtorch;
  bool has_library = false;  // libtorch_cuda.so is next to libtorch_cpu.so
  bool is_built = false;     // its engine in this executable has a librtrain_cuda.so
};

// The first obstacle is the reason: driver, LibTorch, this build.
CudaSupport judge_cuda(const CudaFacts& facts);

}  // namespace rtrain::machine
