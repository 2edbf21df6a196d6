// host/engine/tensor/tensor.h: pushes tensors to Lua.
//
// All go through push_tensor, which may trigger Lua's garbage collection
// (memory/collector.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "host/engine/runtime/lua_tensor.h"

namespace rtrain::engine {

// Pushes the tensor as a new userdata; an undefined tensor as nil.
void push_tensor(lua_State* L, at::Tensor tensor);
void push_tensor(Vm& vm, lua_State* L, at::Tensor tensor);

// Pushes a list of tensors.
void push_tensors(lua_State* L, const std::vector<at::Tensor>& tensors);

// Pushes a list of sizes, which prints like torch.Size and raises for index 0.
void push_sizes(lua_State* L, at::IntArrayRef sizes);

}  // namespace rtrain::engine
