// host/cuda/graphs.h: CUDA graphs by LibTorch's at::cuda::CUDAGraph.
#pragma once

#include "host/engine/cuda/graphs_api.h"

namespace rtrain::cuda {

engine::CudaGraphsApi cuda_graphs_api();

}  // namespace rtrain::cuda
