// host/lua/closure/reached_globals.h: which globals a Lua function names in its code.
#pragma once

#include <set>
#include <string>

#include "host/lua/lua.h"

namespace rtrain::lua {

// Returns the names that the Lua function at the index, or a function defined inside it, reads or
// assigns as globals. A function that names `_G` may index it by any of its string constants, so in
// it those count too. This reads the code and runs none of it.
std::set<std::string> reached_globals(lua_State* L, int index);

}  // namespace rtrain::lua
