// host/lua/print.h: print, which shows the contents of tables.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::lua {

// Replaces the state's print. If a table does not have a text of its own, it prints what
// base/table_text.lua writes; Lua would print an address. All other values print as in Lua.
void add_print(lua_State* L);

}  // namespace rtrain::lua
