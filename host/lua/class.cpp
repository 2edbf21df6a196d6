#include "host/lua/class.h"

#include <string_view>

namespace rtrain {

void register_methods(lua_State* L, std::span<const Method> methods) {
  for (const Method& m : methods) {
    const bool meta = std::string_view(m.name()).starts_with("__");
    lua_pushcfunction(L, m.function());
    lua_setfield(L, meta ? -2 : -3, m.name());
  }
}

void push_functions(lua_State* L, std::span<const Method> functions) {
  lua_createtable(L, 0, static_cast<int>(functions.size()));
  for (const Method& f : functions) {
    lua_pushcfunction(L, f.function());
    lua_setfield(L, -2, f.name());
  }
}

}  // namespace rtrain
