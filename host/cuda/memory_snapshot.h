// host/cuda/memory_snapshot.h: the history of LibTorch's allocator of CUDA memory.
#pragma once

#include "host/engine/cuda/memory_snapshot_api.h"

namespace rtrain::cuda {

engine::CudaMemorySnapshotApi cuda_memory_snapshot_api();

}  // namespace rtrain::cuda
