// host/engine/cuda/api.h: what librtrain_cuda.so (host/cuda/) offers to the engine: one versioned
// struct of function pointers, a member for each of its files.
//
// The engine itself runs without CUDA and links nothing of it. Where the host has found a driver
// and LibTorch's CUDA library it loads librtrain_cuda.so too and gives its struct to the engine.
// What LibTorch answers without its CUDA headers (c10::Stream, c10::Event, c10::DeviceAllocator)
// the engine asks itself.
#pragma once

#include <cstdint>

#include "host/engine/cuda/allocator_api.h"
#include "host/engine/cuda/devices_api.h"
#include "host/engine/cuda/events_api.h"
#include "host/engine/cuda/graphs_api.h"
#include "host/engine/cuda/groups_api.h"
#include "host/engine/cuda/memory_snapshot_api.h"
#include "host/engine/cuda/nvtx_api.h"

namespace rtrain {

struct CudaApi {
  static constexpr uint32_t kVersion = 4;
  uint32_t version = kVersion;

  CudaAllocatorApi allocator;
  CudaDevicesApi devices;
  CudaEventsApi events;
  CudaGraphsApi graphs;
  CudaGroupsApi groups;
  CudaMemorySnapshotApi memory_snapshot;
  CudaNvtxApi nvtx;
};

// The only exported symbol of librtrain_cuda.so.
using CudaApiFunction = const CudaApi* (*)();

}  // namespace rtrain
