// host/cuda/kernels.h: CUDA kernels of train.compile (host/engine/cuda/kernels_api.h).
#pragma once

#include "host/engine/cuda/kernels_api.h"

namespace rtrain::cuda {

engine::CudaKernelsApi cuda_kernels_api();

}  // namespace rtrain::cuda
