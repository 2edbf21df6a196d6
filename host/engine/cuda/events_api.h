// host/engine/cuda/events_api.h: how events are created. For all other calls about events the
// engine uses LibTorch, without its CUDA headers.
#pragma once

namespace rtrain::engine {

struct CudaEventKind {
  bool has_timing = false;
  bool is_blocking = false;  // a thread that waits for the event sleeps instead of spinning
};

struct CudaEventsApi {
  // Creates a cudaEvent_t on the device; throws c10::Error.
  void* (*create)(int device, CudaEventKind kind) = nullptr;
};

}  // namespace rtrain::engine
