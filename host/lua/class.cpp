#include "host/lua/class.h"

#include <string_view>

namespace rtrain::lua {

void register_methods(lua_State* L, std::span<const Method> methods) {
  for (const Method& m : methods) {
    const bool meta = std::string_view(m.name()).starts_with("__");
    lua_pushcfunction(L, m.function());
    lua_setfield(L, meta ? -2 : -3, m.name());
  }
}

void add_function(lua_State* L, const Method& function) {
  lua_pushcfunction(L, function.function());
  lua_setfield(L, -2, function.name());
}

void add_functions(lua_State* L, std::span<const Method> functions) {
  for (const Method& each : functions) add_function(L, each);
}

void push_functions(lua_State* L, std::span<const Method> functions) {
  lua_createtable(L, 0, static_cast<int>(functions.size()));
  add_functions(L, functions);
}

}  // namespace rtrain::lua
