#include "host/lua/python_advice.h"

namespace rtrain::lua {

std::string with_python_advice(lua_State* L, const std::string& text, const std::string& message) {
  const int top = lua_gettop(L);
  std::string out = message;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "base.errors.pythonisms");
  if (lua_pcall(L, 1, 1, 0) == 0) {
    lua_getfield(L, -1, "explained");
    lua_pushlstring(L, text.data(), text.size());
    lua_pushlstring(L, message.data(), message.size());
    if (lua_pcall(L, 2, 1, 0) == 0 && lua_type(L, -1) == LUA_TSTRING) out = lua_tostring(L, -1);
  }
  lua_settop(L, top);
  return out;
}

}  // namespace rtrain::lua
