// host/engine/operators/functions.h: ATen's operators as Lua functions.
#pragma once

#include "host/engine/operators/boxed/overloads.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

// Pushes a C function that calls the operator as a method of tensors: the first argument becomes
// the parameter `self`, which is not always the first one. Tries the fast path first if there is
// one.
void push_method(lua_State* L, Op& op);

}  // namespace rtrain::engine
