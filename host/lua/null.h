// host/lua/null.h: stands for nil in a list that becomes plain data, since a Lua list cannot hold
// it.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::lua {

// Pushes a userdata that to_value() (host/lua/convert.h) reads as nil.
void push_null(lua_State* L);
bool is_null(lua_State* L, int index);

}  // namespace rtrain::lua
