#include "host/lua/sorted_keys.h"

#include <algorithm>
#include <string>
#include <vector>

namespace rtrain::lua {

void push_sorted_keys(lua_State* L, int table) {
  std::vector<double> numbers;
  std::vector<std::string> strings;
  int other_count = 0;
  lua_newtable(L);
  const int keys = lua_gettop(L);
  lua_newtable(L);
  const int others = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TNUMBER) {
      numbers.push_back(lua_tonumber(L, -2));
    } else if (lua_type(L, -2) == LUA_TSTRING) {
      size_t size = 0;
      const char* text = lua_tolstring(L, -2, &size);
      strings.emplace_back(text, size);
    } else {
      lua_pushvalue(L, -2);
      lua_rawseti(L, others, ++other_count);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  std::sort(strings.begin(), strings.end());
  int position = 0;
  for (const double number : numbers) {
    lua_pushnumber(L, number);
    lua_rawseti(L, keys, ++position);
  }
  for (const std::string& text : strings) {
    lua_pushlstring(L, text.data(), text.size());
    lua_rawseti(L, keys, ++position);
  }
  for (int i = 1; i <= other_count; ++i) {
    lua_rawgeti(L, others, i);
    lua_rawseti(L, keys, ++position);
  }
  lua_settop(L, keys);
}

}  // namespace rtrain::lua
