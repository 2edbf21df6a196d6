// host/lua/convert.h: plain data between Lua and Value.
//
// Tables with the keys 1…n are lists, tables with string keys maps (keys sorted, so that the order
// is the same in every process), the empty table is a map unless it is marked with torch.list{}. A
// table made by `base.ordered` keeps its order. Integral numbers become integers; int64 and
// uint64 cdata too. Everything else (functions, userdata, mixed tables, cycles) is
// an Error(kArgument) that names the path to it: "config.model.hook: a function is not plain data".
#pragma once

#include <string_view>

#include "host/base/value.h"
#include "host/lua/lua.h"

namespace rtrain::lua {

// Marks a table as a list (registry metatable); torch.list returns one.
inline constexpr const char* kListMeta = "rtrain.list";
// Marks a table as a map with integer keys.
inline constexpr const char* kIntMapMeta = "rtrain.intmap";

// The value at the index; `what` begins the path in messages ("metrics").
Value to_value(lua_State* L, int index, std::string_view what = "value");

void push_value(lua_State* L, const Value& value);

}  // namespace rtrain::lua
