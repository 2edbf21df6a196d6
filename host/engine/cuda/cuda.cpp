#include "host/engine/cuda/cuda.h"

#include <array>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/engine/guard.h"

namespace rtrain {
namespace {

const CudaApi* connected = nullptr;

std::string& refusal() {
  static std::string text = "the host has not looked for one";
  return text;
}

const CudaApi& need_api() {
  if (connected == nullptr) throw Error(Code::kEnvironment, cat("no CUDA device: ", refusal()));
  return *connected;
}

// The device's number, which the callers in torch.cuda have read from what the user gave.
int check_number(lua_State* L) {
  const CudaApi& api = need_api();
  const auto device = static_cast<int>(luaL_checkinteger(L, 1));
  const int count = api.device_count();
  if (device >= 0 && device < count) return device;
  throw Error(Code::kArgument,
              cat("there is no device 'cuda:", device, "': this process sees ", count,
                  count == 1 ? " device" : " devices", ", numbered from 0"));
}

int device_count(lua_State* L) {
  lua_pushinteger(L, connected == nullptr ? 0 : connected->device_count());
  return 1;
}

int current_device(lua_State* L) {
  lua_pushinteger(L, need_api().current_device());
  return 1;
}

int set_device(lua_State* L) {
  need_api().set_device(check_number(L));
  return 0;
}

int synchronize(lua_State* L) {
  need_api().synchronize(check_number(L));
  return 0;
}

void set_number(lua_State* L, const char* field, int64_t value) {
  lua_pushnumber(L, static_cast<lua_Number>(value));
  lua_setfield(L, -2, field);
}

void set_text(lua_State* L, const char* field, const std::string& value) {
  lua_pushlstring(L, value.data(), value.size());
  lua_setfield(L, -2, field);
}

void set_boolean(lua_State* L, const char* field, bool value) {
  lua_pushboolean(L, value ? 1 : 0);
  lua_setfield(L, -2, field);
}

int get_device_properties(lua_State* L) {
  const CudaDeviceProperties properties = need_api().properties(check_number(L));
  lua_newtable(L);
  set_text(L, "name", properties.name);
  set_text(L, "uuid", properties.uuid);
  set_number(L, "major", properties.major);
  set_number(L, "minor", properties.minor);
  set_number(L, "total_memory", properties.total_memory);
  set_number(L, "multi_processor_count", properties.multi_processor_count);
  set_number(L, "max_threads_per_multi_processor", properties.max_threads_per_multi_processor);
  set_number(L, "regs_per_multiprocessor", properties.regs_per_multiprocessor);
  set_number(L, "shared_memory_per_block", properties.shared_memory_per_block);
  set_number(L, "L2_cache_size", properties.l2_cache_size);
  set_number(L, "warp_size", properties.warp_size);
  set_boolean(L, "is_integrated", properties.is_integrated);
  set_boolean(L, "is_multi_gpu_board", properties.is_multi_gpu_board);
  return 1;
}

// → free, total
int mem_get_info(lua_State* L) {
  const CudaMemory memory = need_api().memory(check_number(L));
  lua_pushnumber(L, static_cast<lua_Number>(memory.free_bytes));
  lua_pushnumber(L, static_cast<lua_Number>(memory.total_bytes));
  return 2;
}

}  // namespace

const CudaApi* cuda_api() { return connected; }

const std::string& cuda_refusal() { return refusal(); }

void open_cuda(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&device_count>("device_count"),
      torch_method<&current_device>("current_device"),
      torch_method<&set_device>("set_device"),
      torch_method<&get_device_properties>("get_device_properties"),
      torch_method<&mem_get_info>("mem_get_info"),
      torch_method<&synchronize>("synchronize")};
  push_functions(L, kFunctions);
  lua_setfield(L, -2, "cuda_devices");  // not "cuda", a method of tensors
}

}  // namespace rtrain

// Called by the host before the engine is opened in any state: with librtrain_cuda.so's functions,
// or with the reason why there are none. False where the two are not of one build.
extern "C" __attribute__((visibility("default"))) bool rtrain_engine_use_cuda(
    const rtrain::CudaApi* api, const char* reason) {
  if (api != nullptr && api->version != rtrain::CudaApi::kVersion) return false;
  rtrain::connected = api;
  rtrain::refusal() = reason;
  return true;
}
