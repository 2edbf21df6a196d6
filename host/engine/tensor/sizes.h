// host/engine/tensor/sizes.h: reads lists of integers (sizes, dims) from Lua: x:view(2, 3) and
// x:view{2, 3}.
#pragma once

#include <c10/util/SmallVector.h>

#include "host/engine/runtime/scalars.h"
#include "host/lua/list_items.h"
#include "host/lua/lua.h"

namespace rtrain::engine {

using Sizes = c10::SmallVector<int64_t, 6>;

// Reads the arguments first … last, all integers, or one table of integers. Returns false for
// anything else.
inline bool read_sizes(lua_State* L, int first, int last, Sizes& out) {
  const bool table = first == last && lua_type(L, first) == LUA_TTABLE;
  const int size = table ? static_cast<int>(lua_objlen(L, first)) : last - first + 1;
  for (int i = 0; i < size; ++i) {
    if (table) lua_rawgeti(L, first, i + 1);
    const auto item = to_int(L, table ? -1 : first + i);
    if (table) lua_pop(L, 1);
    if (!item) return false;
    out.push_back(*item);
  }
  // A table with keywords, or with items after a nil, is not a list of sizes.
  return !table || lua::is_list(L, first, size);
}

}  // namespace rtrain::engine
