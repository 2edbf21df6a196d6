// host/engine/operators/functions.h: ATen's operators as functions of Lua.
#pragma once

#include "host/engine/operators/boxed/overloads.h"
#include "host/lua/lua.h"

namespace rtrain {

// Pushes a C function that calls the operator as a method of tensors: its first argument becomes
// the parameter `self`, which is not always the first. Where there is a typed fast path, the
// function tries it first.
void push_method(lua_State* L, Op& op);

}  // namespace rtrain
