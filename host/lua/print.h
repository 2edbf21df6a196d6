// host/lua/print.h: print, which shows the contents of tables.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::lua {

// Replaces the state's print: a table without a text of its own is shown as base/table_text.lua
// writes it, where Lua shows an address. Everything else is Lua's print.
void add_print(lua_State* L);

}  // namespace rtrain::lua
