// torch._C.cuda_nvtx: marks in the time line of NVIDIA's tools. Without CUDA they do nothing.
#include <torch/csrc/autograd/profiler_kineto.h>

#include "host/engine/cuda/cuda.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"

namespace rtrain::engine {
namespace {

constexpr const char* kHandle = "torch.cuda.nvtx.range";
// NVTX's result while no tool records.
constexpr int kNobodyLooks = -2;

const CudaNvtxApi& nvtx() {
  static const CudaNvtxApi none;
  return cuda_api() == nullptr ? none : cuda_api()->nvtx;
}

// The string is a Lua value on the stack, so it ends with a zero byte.
const char* check_message(lua_State* L, int index, std::string_view what) {
  return check_text(L, index, what).data();
}

int range_push(lua_State* L) {
  const char* text = check_message(L, 1, "range_push: msg");
  lua_pushinteger(L, nvtx().push == nullptr ? kNobodyLooks : nvtx().push(text));
  return 1;
}

int range_pop(lua_State* L) {
  lua_pushinteger(L, nvtx().pop == nullptr ? kNobodyLooks : nvtx().pop());
  return 1;
}

int mark(lua_State* L) {
  const char* text = check_message(L, 1, "mark: msg");
  if (nvtx().mark != nullptr) nvtx().mark(text);
  return 0;
}

int range_start(lua_State* L) {
  const char* text = check_message(L, 1, "range_start: msg");
  auto* handle = static_cast<uint64_t*>(lua_newuserdata(L, sizeof(uint64_t)));
  *handle = nvtx().start == nullptr ? 0 : nvtx().start(text);
  luaL_newmetatable(L, kHandle);
  lua_setmetatable(L, -2);
  return 1;
}

int range_end(lua_State* L) {
  const auto* handle = static_cast<const uint64_t*>(luaL_checkudata(L, 1, kHandle));
  if (nvtx().end != nullptr) nvtx().end(*handle);
  return 0;
}

class PushedRange {
 public:
  explicit PushedRange(const char* text) {
    if (nvtx().push != nullptr) nvtx().push(text);
  }
  ~PushedRange() {
    if (nvtx().pop != nullptr) nvtx().pop();
  }
  PushedRange(const PushedRange&) = delete;
  PushedRange& operator=(const PushedRange&) = delete;
};

// range(msg, fn, …) → the results of fn(…).
int range(lua_State* L) {
  const char* text = check_message(L, 1, "range: msg");
  check_callable(L, 2, "range: fn");
  const PushedRange pushed(text);
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

// While it exists, LibTorch marks every operator of this thread.
class Emission {
 public:
  explicit Emission(bool record_shapes) {
    using namespace torch::autograd::profiler;
    enableProfiler(ProfilerConfig(ProfilerState::NVTX, record_shapes), {});
  }
  ~Emission() { torch::autograd::profiler::disableProfiler(); }
  Emission(const Emission&) = delete;
  Emission& operator=(const Emission&) = delete;
};

// emit(record_shapes, fn, …) → the results of fn(…).
int emit(lua_State* L) {
  need_cuda();
  check_callable(L, 2, "emit_nvtx: fn");
  const Emission emission(lua_toboolean(L, 1) != 0);
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

constexpr lua::Method kFunctions[] = {
    torch_method<&range_push>("range_push"),
    torch_method<&range_pop>("range_pop"),
    torch_method<&mark>("mark"),
    torch_method<&range_start>("range_start"),
    torch_method<&range_end>("range_end"),
    torch_method<&range>("range"),
    torch_method<&emit>("emit"),
};

}  // namespace

void open_cuda_nvtx(lua_State* L) {
  lua::push_functions(L, kFunctions);
  lua_setfield(L, -2, "cuda_nvtx");
}

}  // namespace rtrain::engine
