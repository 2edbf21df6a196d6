// host/lua/convert.h: plain data between Lua and Value.
//
// A table with the keys 1…n is a list, a table with string keys a map (keys sorted, so that the
// order is the same in every process). The empty table is a map unless torch.list{} made it. A
// table made by `base.ordered` keeps its order. Integral numbers become integers, as do int64 and
// uint64 cdata. Everything else (functions, userdata, mixed tables, cycles) throws
// Error(kArgument), which names the path to it: "config.model.hook: a function is not plain data".
#pragma once

#include <string_view>

#include "host/base/value.h"
#include "host/lua/lua.h"

namespace rtrain::lua {

// Name of the metatable (in the registry) that marks a table as a list; torch.list sets it.
inline constexpr const char* kListMeta = "rtrain.list";
// Name of the metatable that marks a table as a map with integer keys.
inline constexpr const char* kIntMapMeta = "rtrain.intmap";

// Converts the value at the index. Paths in messages begin with `what` ("metrics").
Value to_value(lua_State* L, int index, std::string_view what = "value");

void push_value(lua_State* L, const Value& value);

}  // namespace rtrain::lua
