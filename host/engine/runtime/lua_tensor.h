// host/engine/runtime/lua_tensor.h: at::Tensor as a Lua value: a userdata with one intrusive
// pointer.
//
// `__gc` and `release` only drop the pointer. Any later use of the userdata is an argument error.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "host/engine/runtime/vm.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// The tensor at the index; null if it is not a tensor. A released tensor is undefined.
at::Tensor* test_tensor(lua_State* L, int index);
at::Tensor* test_tensor(const Vm& vm, lua_State* L, int index);

// The tensor at the index. Throws Error(kArgument) naming the argument if it is not a tensor or was
// released.
at::Tensor& check_tensor(lua_State* L, int index);

// The tensors of the list at the index. Throws Error(kArgument) naming an item that is not a
// tensor.
std::vector<at::Tensor> check_tensors(lua_State* L, int index);

// "float32 [2, 3]", for messages.
std::string describe(const at::Tensor& tensor);

// The value at the index for a message: "float32 [2, 3]", "number 3", "nil".
std::string describe_value(lua_State* L, int index);

// "float32 [2], number 3": the first values on the stack.
std::string describe_stack(lua_State* L, int count);

}  // namespace rtrain::engine
