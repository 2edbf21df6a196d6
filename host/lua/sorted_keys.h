// host/lua/sorted_keys.h: a table's keys in an order that is the same in every process.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::lua {

// Pushes a list of the keys of the table at the index: numbers ascending, then strings, then other
// keys in the order of lua_next.
void push_sorted_keys(lua_State* L, int table);

}  // namespace rtrain::lua
