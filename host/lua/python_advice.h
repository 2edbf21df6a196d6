// host/lua/python_advice.h: advice for Python code in a script: what to write in Lua
// (base/errors/pythonisms.lua).
#pragma once

#include <string>

#include "host/lua/lua.h"

namespace rtrain::lua {

// Returns Lua's message about a chunk that does not parse, with what to write instead. Never
// raises.
std::string with_python_advice(lua_State* L, const std::string& text, const std::string& message);

}  // namespace rtrain::lua
