// The entry point of librtrain_cuda.so. LibTorch's CUDA library must be loaded before, with global
// symbols. Uses nothing of the executable.
#include "host/cuda/allocator.h"
#include "host/cuda/devices.h"
#include "host/cuda/events.h"
#include "host/cuda/graphs.h"
#include "host/cuda/groups.h"
#include "host/cuda/kernels.h"
#include "host/cuda/memory_snapshot.h"
#include "host/cuda/nvtx.h"
#include "host/engine/cuda/api.h"

extern "C" __attribute__((visibility("default"))) const rtrain::engine::CudaApi* rtrain_cuda_api() {
  static const rtrain::engine::CudaApi kApi{
      .allocator = rtrain::cuda::cuda_allocator_api(),
      .devices = rtrain::cuda::cuda_devices_api(),
      .events = rtrain::cuda::cuda_events_api(),
      .graphs = rtrain::cuda::cuda_graphs_api(),
      .groups = rtrain::cuda::cuda_groups_api(),
      .kernels = rtrain::cuda::cuda_kernels_api(),
      .memory_snapshot = rtrain::cuda::cuda_memory_snapshot_api(),
      .nvtx = rtrain::cuda::cuda_nvtx_api()};
  return &kApi;
}
