// host/engine/cuda/events_api.h: how events are made. All else about them LibTorch answers without
// its CUDA headers.
#pragma once

namespace rtrain {

struct CudaEventKind {
  bool has_timing = false;
  bool is_blocking = false;  // who waits for it sleeps, and does not spin
};

struct CudaEventsApi {
  // A cudaEvent_t of the device; throws c10::Error.
  void* (*create)(int device, CudaEventKind kind) = nullptr;
};

}  // namespace rtrain
