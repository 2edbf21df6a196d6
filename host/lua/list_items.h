// host/lua/list_items.h: whether a Lua table is a list without holes.
//
// If a list has a nil in it, Lua's length may be that of its first part. A function that has read
// the items 1 … lua_objlen() calls these afterwards to find out whether there are more.
#pragma once

#include <string>

#include "host/lua/lua.h"

namespace rtrain::lua {

// Whether the table holds only its items 1 … size. This looks at each key: the order of the keys
// shows nothing, since LuaJIT puts item 0 before the first item, and further items behind names.
bool is_list(lua_State* L, int table, int size);

// Returns the largest integer among the table's keys; 0 without one.
int last_item(lua_State* L, int table);

// Returns the number of the first item that is nil although a later one is not; 0 without one.
int first_hole(lua_State* L, int table);

// Returns what keeps the table from being a list, "item 2 is nil", "it has a field 'x'"; "" for a
// list.
std::string list_problem(lua_State* L, int table);

}  // namespace rtrain::lua
