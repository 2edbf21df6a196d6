// host/lua/python_advice.h: what to write instead of Python in a script
// (base/errors/pythonisms.lua).
#pragma once

#include <string>

#include "host/lua/lua.h"

namespace rtrain::lua {

// Lua's message about a text that it cannot read, with what to write instead. Raises nothing.
std::string with_python_advice(lua_State* L, const std::string& text, const std::string& message);

}  // namespace rtrain::lua
