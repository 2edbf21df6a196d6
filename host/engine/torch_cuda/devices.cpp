// torch._C.cuda_devices: the devices that this process sees.
#include <array>

#include "host/engine/cuda/cuda.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/table_fields.h"

namespace rtrain::engine {
namespace {

int device_count(lua_State* L) {
  lua_pushinteger(L, cuda_api() == nullptr ? 0 : cuda_api()->devices.count());
  return 1;
}

int current_device(lua_State* L) {
  lua_pushinteger(L, need_cuda().devices.current());
  return 1;
}

int set_device(lua_State* L) {
  need_cuda().devices.set_current(check_cuda_device(L, 1));
  return 0;
}

int synchronize(lua_State* L) {
  need_cuda().devices.synchronize(check_cuda_device(L, 1));
  return 0;
}

int get_device_properties(lua_State* L) {
  const CudaDeviceProperties properties = need_cuda().devices.properties(check_cuda_device(L, 1));
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
  const CudaMemory memory = need_cuda().devices.memory(check_cuda_device(L, 1));
  lua_pushnumber(L, static_cast<lua_Number>(memory.free_bytes));
  lua_pushnumber(L, static_cast<lua_Number>(memory.total_bytes));
  return 2;
}

}  // namespace

void open_cuda_devices(lua_State* L) {
  static constexpr std::array kFunctions = {
      torch_method<&device_count>("device_count"),
      torch_method<&current_device>("current_device"),
      torch_method<&set_device>("set_device"),
      torch_method<&get_device_properties>("get_device_properties"),
      torch_method<&mem_get_info>("mem_get_info"),
      torch_method<&synchronize>("synchronize")};
  lua::push_functions(L, kFunctions);
  lua_setfield(L, -2, "cuda_devices");  // "cuda" is a method of tensors
}

}  // namespace rtrain::engine
