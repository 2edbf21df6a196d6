// host/engine/tensor/tensor.h: how tensors enter Lua.
//
// Each goes through push_tensor, which may then have Lua's garbage collected
// (memory/collector.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "host/engine/runtime/lua_tensor.h"

namespace rtrain {

// Pushes the tensor as a new userdata; an undefined tensor as nil.
void push_tensor(lua_State* L, at::Tensor tensor);
void push_tensor(Vm& vm, lua_State* L, at::Tensor tensor);

// Pushes them as a list.
void push_tensors(lua_State* L, const std::vector<at::Tensor>& tensors);

// Pushes a list of sizes: prints like torch.Size, and its index 0 raises.
void push_sizes(lua_State* L, at::IntArrayRef sizes);

}  // namespace rtrain
