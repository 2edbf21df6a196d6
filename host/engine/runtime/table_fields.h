// host/engine/runtime/table_fields.h: fields of the table at the top of the stack.
#pragma once

#include <string>

#include "host/lua/lua.h"

namespace rtrain::engine {

template <class Number>
void set_number(lua_State* L, const char* name, Number value) {
  lua_pushnumber(L, static_cast<lua_Number>(value));
  lua_setfield(L, -2, name);
}

inline void set_text(lua_State* L, const char* name, const std::string& value) {
  lua_pushlstring(L, value.data(), value.size());
  lua_setfield(L, -2, name);
}

inline void set_boolean(lua_State* L, const char* name, bool value) {
  lua_pushboolean(L, value ? 1 : 0);
  lua_setfield(L, -2, name);
}

}  // namespace rtrain::engine
