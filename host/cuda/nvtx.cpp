#include "host/cuda/nvtx.h"

// Part of the CUDA toolkit; it consists only of headers.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace rtrain::cuda {

engine::CudaNvtxApi cuda_nvtx_api() {
  return {.push = &nvtxRangePushA,
          .pop = &nvtxRangePop,
          .mark = &nvtxMarkA,
          .start = &nvtxRangeStartA,
          .end = &nvtxRangeEnd};
}

}  // namespace rtrain::cuda
#else
namespace rtrain::cuda {

CudaNvtxApi cuda_nvtx_api() { return {}; }

}  // namespace rtrain::cuda
#endif
