// host/engine/cuda/api.h: the interface of librtrain_cuda.so (host/cuda/) for the engine: one
// versioned struct of function pointers, with one member for each of its files.
//
// The engine itself runs without CUDA and does not link it. Where the host finds a driver and
// LibTorch's CUDA library, it also loads librtrain_cuda.so and passes its struct to the engine. The
// engine directly calls the classes that LibTorch offers without CUDA headers (c10::Stream,
// c10::Event, c10::DeviceAllocator).
#pragma once

#include <cstdint>

#include "host/engine/cuda/allocator_api.h"
#include "host/engine/cuda/devices_api.h"
#include "host/engine/cuda/events_api.h"
#include "host/engine/cuda/graphs_api.h"
#include "host/engine/cuda/groups_api.h"
#include "host/engine/cuda/kernels_api.h"
#include "host/engine/cuda/memory_snapshot_api.h"
#include "host/engine/cuda/nvtx_api.h"

namespace rtrain::engine {

struct CudaApi {
  static constexpr uint32_t kVersion = 5;
  uint32_t version = kVersion;

  CudaAllocatorApi allocator;
  CudaDevicesApi devices;
  CudaEventsApi events;
  CudaGraphsApi graphs;
  CudaGroupsApi groups;
  CudaKernelsApi kernels;
  CudaMemorySnapshotApi memory_snapshot;
  CudaNvtxApi nvtx;
};

// The only exported symbol of librtrain_cuda.so.
using CudaApiFunction = const CudaApi* (*)();

}  // namespace rtrain::engine
