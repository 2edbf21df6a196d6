// host/lua/list_items.h: whether a Lua table is a list without holes.
//
// Lua's length of a list with a nil in it may be that of its first part. Whoever reads the items 1
// … lua_objlen() asks afterwards whether there are others.
#pragma once

#include <string>

#include "host/lua/lua.h"

namespace rtrain::lua {

// Whether the table holds nothing but its items 1 … size. Takes the time of a look at each key: no
// key tells of the others, since LuaJIT keeps item 0 before the first one, and items behind names.
bool is_list(lua_State* L, int table, int size);

// The largest integer among the table's keys; 0 without one.
int last_item(lua_State* L, int table);

// The first item that is nil although a later one is not; 0 without one.
int first_hole(lua_State* L, int table);

// "item 2 is nil", "it has a field 'x'": what keeps the table from being a list; "" for a list.
std::string list_problem(lua_State* L, int table);

}  // namespace rtrain::lua
