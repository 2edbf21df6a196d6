// host/engine/operators/operators.h: arithmetic metamethods + - * / % ^ and unary minus, for
// tensors and numbers.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::engine {

// Adds __add, __sub, … to the metatable at the top of the stack.
void add_operators(lua_State* L);

}  // namespace rtrain::engine
