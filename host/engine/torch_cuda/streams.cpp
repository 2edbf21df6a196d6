// torch._C.cuda_streams: streams of CUDA devices. In Lua a stream is two numbers, device and id:
// LibTorch owns the streams, in pools that live as long as the process.
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <array>

#include "host/engine/cuda/cuda.h"
#include "host/engine/runtime/blocking.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/scalars.h"
#include "host/engine/tensor/tensor.h"
#include "host/engine/torch_cuda/stream.h"

namespace rtrain::engine {
namespace {

c10::impl::VirtualGuardImpl guard() { return c10::impl::VirtualGuardImpl(c10::kCUDA); }

c10::Device check_stream_device(lua_State* L, int index) {
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(check_cuda_device(L, index))};
}

int push_stream(lua_State* L, const c10::Stream& stream) {
  lua_pushinteger(L, stream.device_index());
  push_int(L, stream.id());
  return 2;
}

// new(device, priority) → device, id: a stream from LibTorch's pool of 32 for each priority.
int new_stream(lua_State* L) {
  const c10::Device device = check_stream_device(L, 1);
  return push_stream(L, guard().getNewStream(device, static_cast<int>(luaL_checkinteger(L, 2))));
}

int current_stream(lua_State* L) {
  return push_stream(L, guard().getStream(check_stream_device(L, 1)));
}

int default_stream(lua_State* L) {
  return push_stream(L, guard().getDefaultStream(check_stream_device(L, 1)));
}

// Also makes the stream's device the current one, as in PyTorch.
int set_stream(lua_State* L) {
  const c10::Stream stream = check_stream(L, 1);
  guard().setDevice(stream.device());
  guard().exchangeStream(stream);
  return 0;
}

int query(lua_State* L) {
  lua_pushboolean(L, check_stream(L, 1).query() ? 1 : 0);
  return 1;
}

int synchronize(lua_State* L) {
  const c10::Stream stream = check_stream(L, 1);
  const BlockingRegion region(host(L), WaitKind::kOwn, "torch.cuda.Stream.synchronize");
  stream.synchronize();
  return 0;
}

// The cudaStream_t as a number.
int native_handle(lua_State* L) {
  push_int(L, static_cast<int64_t>(reinterpret_cast<intptr_t>(check_stream(L, 1).native_handle())));
  return 1;
}

// record(tensor, device, id): keeps the tensor's memory from being reused before the stream has
// passed this point.
int record(lua_State* L) {
  const at::Tensor& tensor = check_tensor(L, 1);
  tensor.record_stream(check_stream(L, 2));
  return 0;
}

}  // namespace

c10::Stream check_stream(lua_State* L, int index) {
  const c10::Device device = check_stream_device(L, index);
  const auto id = to_int(L, index + 1);
  if (!id) throw Error(Code::kArgument, "a stream is a torch.cuda.Stream");
  return c10::Stream(c10::Stream::UNSAFE, device, *id);
}

void open_cuda_streams(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&new_stream>("new"),        torch_method<&current_stream>("current_stream"),
      torch_method<&set_stream>("set_stream"), torch_method<&default_stream>("default_stream"),
      torch_method<&query>("query"),           torch_method<&synchronize>("synchronize"),
      torch_method<&record>("record"),         torch_method<&native_handle>("native_handle")};
  lua::push_functions(L, kFunctions);
  lua_setfield(L, -2, "cuda_streams");
}

}  // namespace rtrain::engine
