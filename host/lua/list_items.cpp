#include "host/lua/list_items.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/base/text/text.h"

namespace rtrain::lua {
namespace {

// Returns the integer at the index if it can be the number of an item, otherwise 0.
int item_at(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TNUMBER) return 0;
  const double number = lua_tonumber(L, index);
  const bool fits =
      std::floor(number) == number && number >= 1 && number <= std::numeric_limits<int>::max();
  return fits ? static_cast<int>(number) : 0;
}

bool is_nil_at(lua_State* L, int table, int item) {
  lua_rawgeti(L, table, item);
  const bool is_nil = lua_isnil(L, -1);
  lua_pop(L, 1);
  return is_nil;
}

}  // namespace

bool is_list(lua_State* L, int table, int size) {
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    const int item = item_at(L, -2);
    if (item >= 1 && item <= size) continue;
    lua_pop(L, 2);
    return false;
  }
  return true;
}

int last_item(lua_State* L, int table) {
  int out = 0;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) out = std::max(out, item_at(L, -2));
  return out;
}

int first_hole(lua_State* L, int table) {
  const int last = last_item(L, table);
  for (int i = 1; i < last; ++i) {
    if (is_nil_at(L, table, i)) return i;
  }
  return 0;
}

std::string list_problem(lua_State* L, int table) {
  if (const int hole = first_hole(L, table)) return cat("item ", hole, " is nil");
  std::string field;  // the first in sorted order: the same on every rank
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TNUMBER && item_at(L, -2) == 0) {
      const double number = lua_tonumber(L, -2);
      lua_pop(L, 2);
      return cat("it has an item ", number, ", and a list begins with item 1");
    }
    if (lua_type(L, -2) != LUA_TSTRING) continue;
    const std::string name = lua_tostring(L, -2);
    if (field.empty() || name < field) field = name;
  }
  return field.empty() ? field : cat("it has a field '", field, "'");
}

}  // namespace rtrain::lua
