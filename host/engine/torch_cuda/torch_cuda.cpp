#include "host/engine/torch_cuda/torch_cuda.h"

#include "host/engine/cuda/cuda.h"
#include "host/engine/memory/collector.h"
#include "host/engine/torch_cuda/allocator_settings.h"

namespace rtrain::engine {

void open_cuda(lua_State* L) {
  if (cuda_api() != nullptr) check_allocator_settings();
  open_cuda_devices(L);
  open_cuda_graphs(L);
  open_cuda_nvtx(L);
  open_cuda_streams(L);
  open_cuda_events(L);
  open_cuda_allocator(L);
  open_cuda_random(L);
  open_cuda_memory_snapshot(L);
}

}  // namespace rtrain::engine

// Called by the host before the engine is opened in any state, with librtrain_cuda.so's functions
// or the reason why it is not loaded. Returns false if the two are of different builds.
extern "C" __attribute__((visibility("default"))) bool rtrain_engine_use_cuda(
    const rtrain::engine::CudaApi* api, const char* reason) {
  if (api != nullptr && api->version != rtrain::engine::CudaApi::kVersion) return false;
  if (api != nullptr) api->allocator.set_free_memory_callback(&rtrain::engine::free_device_memory);
  rtrain::engine::connect_cuda(api, reason);
  return true;
}
