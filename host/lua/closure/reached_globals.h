// host/lua/closure/reached_globals.h: which globals a Lua function names in its code.
#pragma once

#include <set>
#include <string>

#include "host/lua/lua.h"

namespace rtrain::lua {

// The names that the Lua function at the index, or a function defined inside it, reads or assigns
// as globals. A function that names `_G` may index it by any of its string constants: then those
// count too. Reads the code; runs nothing.
std::set<std::string> reached_globals(lua_State* L, int index);

}  // namespace rtrain::lua
