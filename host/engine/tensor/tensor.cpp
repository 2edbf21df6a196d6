#include "host/engine/tensor/tensor.h"

#include <new>

#include "host/engine/memory/collector.h"
#include "host/engine/memory/memory_recording.h"

namespace rtrain::engine {

void push_tensor(Vm& vm, lua_State* L, at::Tensor tensor) {
  if (!tensor.defined()) {
    lua_pushnil(L);
    return;
  }
  before_push(tensor);
  if (records_tensors.load(std::memory_order_relaxed)) [[unlikely]]
    record_tensor(L, tensor);
  new (lua_newuserdata(L, sizeof(at::Tensor))) at::Tensor(std::move(tensor));
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm.tensor_meta_ref);
  lua_setmetatable(L, -2);
  if (vm.scope_ref != LUA_NOREF) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, vm.scope_ref);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, static_cast<int>(++vm.scope_count));
    lua_pop(L, 1);
  }
  after_push(vm, L);
}

void push_tensor(lua_State* L, at::Tensor tensor) { push_tensor(vm(L), L, std::move(tensor)); }

void push_tensors(lua_State* L, const std::vector<at::Tensor>& tensors) {
  lua_createtable(L, static_cast<int>(tensors.size()), 0);
  for (size_t i = 0; i < tensors.size(); ++i) {
    push_tensor(L, tensors[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
}

void push_sizes(lua_State* L, at::IntArrayRef sizes) {
  lua_createtable(L, static_cast<int>(sizes.size()), 0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    lua_pushnumber(L, static_cast<double>(sizes[i]));
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm(L).size_meta_ref);
  lua_setmetatable(L, -2);
}

}  // namespace rtrain::engine
