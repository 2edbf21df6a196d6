#include "host/lua/null.h"

namespace rtrain::lua {
namespace {

constexpr const char* kNullMeta = "rtrain.null";

}  // namespace

void push_null(lua_State* L) {
  lua_newuserdata(L, 1);
  luaL_newmetatable(L, kNullMeta);
  lua_setmetatable(L, -2);
}

bool is_null(lua_State* L, int index) {
  if (lua_getmetatable(L, index) == 0) return false;
  luaL_getmetatable(L, kNullMeta);
  const bool out = lua_rawequal(L, -1, -2) != 0;
  lua_pop(L, 2);
  return out;
}

}  // namespace rtrain::lua
