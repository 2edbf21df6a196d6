// host/engine/cuda/nvtx_api.h: NVTX marks in the time line of NVIDIA's tools, made by
// librtrain_cuda.so. Any thread; nearly free while no tool records.
#pragma once

#include <cstdint>

namespace rtrain::engine {

// The C functions of NVTX. Null if librtrain_cuda.so was built without NVTX's headers.
struct CudaNvtxApi {
  int (*push)(const char* text) = nullptr;  // the depth of the new range, from 0
  int (*pop)() = nullptr;                   // the depth of the range that ends
  void (*mark)(const char* text) = nullptr;
  uint64_t (*start)(const char* text) = nullptr;  // a range that another thread may end
  void (*end)(uint64_t range) = nullptr;
};

}  // namespace rtrain::engine
