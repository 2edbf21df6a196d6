// host/cuda/nvtx.h: marks in the time line of NVIDIA's tools.
#pragma once

#include "host/engine/cuda/nvtx_api.h"

namespace rtrain::cuda {

engine::CudaNvtxApi cuda_nvtx_api();

}  // namespace rtrain::cuda
