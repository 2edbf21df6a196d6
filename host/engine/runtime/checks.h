// host/engine/runtime/checks.h: what engine functions ask of single arguments.
//
// Each throws Error(kArgument) that says what was expected and what came; `what` is the function
// and the parameter: "to: dtype". An index may be negative.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <string_view>

#include "host/lua/lua.h"

namespace rtrain {

// The text lives as long as the value on the stack.
std::string_view check_text(lua_State* L, int index, std::string_view what);
// A function, or an object that can be called like one.
void check_callable(lua_State* L, int index, std::string_view what);
bool check_boolean(lua_State* L, int index, std::string_view what);
at::ScalarType check_dtype(lua_State* L, int index, std::string_view what);
c10::Device check_device(lua_State* L, int index, std::string_view what);
at::MemoryFormat check_memory_format(lua_State* L, int index, std::string_view what);

}  // namespace rtrain
