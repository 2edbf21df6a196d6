// host/engine/runtime/checks.h: checks of single arguments of engine functions.
//
// Each throws Error(kArgument) that says what was expected and what was passed. `what` is the
// function and the parameter: "to: dtype". An index may be negative.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <string_view>

#include "host/lua/lua.h"

namespace rtrain::engine {

// The text is valid as long as the value is on the stack.
std::string_view check_text(lua_State* L, int index, std::string_view what);
// A function, or an object with __call.
void check_callable(lua_State* L, int index, std::string_view what);
bool check_boolean(lua_State* L, int index, std::string_view what);
at::ScalarType check_dtype(lua_State* L, int index, std::string_view what);
c10::Device check_device(lua_State* L, int index, std::string_view what);
at::MemoryFormat check_memory_format(lua_State* L, int index, std::string_view what);

}  // namespace rtrain::engine
