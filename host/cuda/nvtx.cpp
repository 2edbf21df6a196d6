#include "host/cuda/nvtx.h"

// The toolkit brings it; it is headers alone.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace rtrain {

CudaNvtxApi cuda_nvtx_api() {
  return {.push = &nvtxRangePushA,
          .pop = &nvtxRangePop,
          .mark = &nvtxMarkA,
          .start = &nvtxRangeStartA,
          .end = &nvtxRangeEnd};
}

}  // namespace rtrain
#else
namespace rtrain {

CudaNvtxApi cuda_nvtx_api() { return {}; }

}  // namespace rtrain
#endif
