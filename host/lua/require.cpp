#include "host/lua/require.h"

#include "host/lua/guard.h"

namespace rtrain::lua {

void push_module(lua_State* L, std::string_view module) {
  lua_getglobal(L, "require");
  lua_pushlstring(L, module.data(), module.size());
  protected_call(L, 1, 1);
}

void push_module_function(lua_State* L, std::string_view module, const char* function) {
  push_module(L, module);
  lua_getfield(L, -1, function);
  lua_remove(L, -2);
}

}  // namespace rtrain::lua
