#include "host/engine/cuda/cuda.h"

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
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

void connect_cuda(const CudaApi* api, const char* reason) {
  connected = api;
  refusal() = reason;
}

}  // namespace rtrain::engine
