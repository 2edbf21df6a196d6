// host/lua/require.h: lets C++ that was not called from Lua use Lua modules. When a module raises,
// these throw its Error, as protected_call does.
#pragma once

#include <string_view>

#include "host/lua/lua.h"

namespace rtrain::lua {

// Pushes the module, after loading it on first use.
void push_module(lua_State* L, std::string_view module);

// Pushes a function of the module, but not the module.
void push_module_function(lua_State* L, std::string_view module, const char* function);

}  // namespace rtrain::lua
