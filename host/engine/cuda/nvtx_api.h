// host/engine/cuda/nvtx_api.h: marks in the time line of NVIDIA's tools, as librtrain_cuda.so makes
// them. Any thread; next to nothing while no tool looks.
#pragma once

#include <cstdint>

namespace rtrain {

// As the C functions of NVTX. Null where librtrain_cuda.so was built without its headers.
struct CudaNvtxApi {
  int (*push)(const char* text) = nullptr;  // the depth of the new range, from 0
  int (*pop)() = nullptr;                   // the depth of the range that ends
  void (*mark)(const char* text) = nullptr;
  uint64_t (*start)(const char* text) = nullptr;  // a range that another thread may end
  void (*end)(uint64_t range) = nullptr;
};

}  // namespace rtrain
