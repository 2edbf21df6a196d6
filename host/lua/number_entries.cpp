#include "host/lua/number_entries.h"

namespace rtrain::lua {

std::optional<std::vector<NumberEntry>> number_entries(lua_State* L, int index) {
  std::vector<NumberEntry> entries;
  for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TNUMBER) {
      lua_pop(L, 1);
      return std::nullopt;
    }
    size_t size = 0;
    const char* key = lua_tolstring(L, -2, &size);
    entries.push_back({{key, size}, lua_tonumber(L, -1)});
  }
  return entries;
}

}  // namespace rtrain::lua
