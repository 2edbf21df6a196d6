// host/cuda/allocator.h: LibTorch's caching allocator of CUDA memory.
#pragma once

#include "host/engine/cuda/allocator_api.h"

namespace rtrain::cuda {

engine::CudaAllocatorApi cuda_allocator_api();

}  // namespace rtrain::cuda
