#include "host/cuda/events.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

namespace rtrain::cuda {
namespace {

void* create(int device, engine::CudaEventKind kind) {
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
  const unsigned flags = (kind.has_timing ? cudaEventDefault : cudaEventDisableTiming) |
                         (kind.is_blocking ? cudaEventBlockingSync : cudaEventDefault);
  cudaEvent_t event = nullptr;
  C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, flags));
  return event;
}

}  // namespace

engine::CudaEventsApi cuda_events_api() { return {.create = &create}; }

}  // namespace rtrain::cuda
