#include "host/machine/libraries/cuda_support.h"

#include "host/base/text/text.h"

namespace rtrain::machine {

CudaSupport judge_cuda(const CudaFacts& facts) {
  if (facts.driver.devices.empty()) return {0, facts.driver.reason, ""};
  if (!facts.libtorch) return {0, "no usable LibTorch: `rtrain env` lists the places", ""};
  const std::string& lib = facts.libtorch->lib;
  if (!facts.has_library) {
    return {0,
            cat("LibTorch without CUDA: libtorch_cuda.so not found next to ", lib,
                "/libtorch_cpu.so (scripts/setup --gpu or `", libtorch_install_command(),
                "` bring it)"),
            ""};
  }
  if (!facts.is_built)
    return {0,
            cat("the engine of this rtrain for LibTorch ", facts.libtorch->minor,
                " was built without the CUDA 13 toolkit"),
            ""};
  return {static_cast<int>(facts.driver.devices.size()), "", lib + "/libtorch_cuda.so"};
}

}  // namespace rtrain::machine
