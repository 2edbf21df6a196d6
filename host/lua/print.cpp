#include "host/lua/print.h"

#include "host/lua/guard.h"

namespace rtrain::lua {
namespace {

bool has_text(lua_State* L, int index) {
  if (luaL_getmetafield(L, index, "__tostring") == 0) return false;
  lua_pop(L, 1);
  return true;
}

// An object of a script's own class prints as Lua prints it, unless its metatable is one of those
// that mark plain tables.
bool is_plain_table(lua_State* L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || has_text(L, index)) return false;
  if (lua_getmetatable(L, index) == 0) return true;
  bool is_mark = false;
  for (const char* name : {"rtrain.list", "rtrain.intmap"}) {
    luaL_getmetatable(L, name);
    is_mark = is_mark || lua_rawequal(L, -1, -2) != 0;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return is_mark;
}

int print(lua_State* L) {
  const int count = lua_gettop(L);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  for (int index = 2; index <= count + 1; ++index) {
    if (!is_plain_table(L, index)) continue;
    lua_getglobal(L, "require");
    lua_pushliteral(L, "base.table_text");
    lua_call(L, 1, 1);
    lua_pushvalue(L, index);
    lua_call(L, 1, 1);
    lua_replace(L, index);
  }
  lua_call(L, count, 0);
  return 0;
}

}  // namespace

void add_print(lua_State* L) {
  lua_getglobal(L, "print");
  push_function<&print>(L, 1);
  lua_setglobal(L, "print");
}

}  // namespace rtrain::lua
