// host/lua/require.h: modules of Lua for C++ that Lua did not call. A module that raises throws
// its Error, as protected_call does.
#pragma once

#include <string_view>

#include "host/lua/lua.h"

namespace rtrain::lua {

// Pushes the module, loaded when this is its first use.
void push_module(lua_State* L, std::string_view module);

// Pushes a function of the module, without the module.
void push_module_function(lua_State* L, std::string_view module, const char* function);

}  // namespace rtrain::lua
