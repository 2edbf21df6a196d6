#include "host/engine/cuda/cuda.h"

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/engine/cuda/allocator_settings.h"
#include "host/engine/memory/collector.h"

namespace rtrain {
namespace {

const CudaApi* connected = nullptr;

std::string& refusal() {
  static std::string text = "the host has not looked for one";
  return text;
}

}  // namespace

const CudaApi* cuda_api() { return connected; }

const std::string& cuda_refusal() { return refusal(); }

const CudaApi& need_cuda() {
  if (connected == nullptr) throw Error(Code::kEnvironment, cat("no CUDA device: ", refusal()));
  return *connected;
}

int check_cuda_device(lua_State* L, int index) {
  const CudaApi& api = need_cuda();
  const auto device = static_cast<int>(luaL_checkinteger(L, index));
  const int count = api.devices.count();
  if (device >= 0 && device < count) return device;
  throw Error(Code::kArgument,
              cat("there is no device 'cuda:", device, "': this process sees ", count,
                  count == 1 ? " device" : " devices", ", numbered from 0"));
}

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

}  // namespace rtrain

// Called by the host before the engine is opened in any state: with librtrain_cuda.so's functions,
// or with the reason why there are none. False where the two are not of one build.
extern "C" __attribute__((visibility("default"))) bool rtrain_engine_use_cuda(
    const rtrain::CudaApi* api, const char* reason) {
  if (api != nullptr && api->version != rtrain::CudaApi::kVersion) return false;
  if (api != nullptr) api->allocator.set_free_memory_callback(&rtrain::free_device_memory);
  rtrain::connected = api;
  rtrain::refusal() = reason;
  return true;
}
