// host/lua/python_advice.h: what to write instead of Python in a script
// (base/errors/pythonisms.lua).
#pragma once

#include <string>

#include "host/lua/lua.h"

namespace rtrain {

// Lua's message about a text that it cannot read, with what to write instead. Raises nothing.
std::string with_python_advice(lua_State* L, const std::string& text, const std::string& message);

// Throws Error(kUser) when the chunk at the top of the stack, or a function in it, reads None, True
// or False: globals without a value in Lua, so that the script would run with nil.
void refuse_python_constants(lua_State* L);

}  // namespace rtrain
