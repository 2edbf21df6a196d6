#include "host/lua/ref.h"

#include <utility>

#include "host/lua/main_state.h"

namespace rtrain::lua {

Ref::Ref(lua_State* L) : main_(main_state(L)), key_(luaL_ref(L, LUA_REGISTRYINDEX)) {}

Ref::Ref(Ref&& other) noexcept : main_(other.main_), key_(std::exchange(other.key_, LUA_NOREF)) {}

Ref& Ref::operator=(Ref&& other) noexcept {
  if (this == &other) return *this;
  clear();
  main_ = other.main_;
  key_ = std::exchange(other.key_, LUA_NOREF);
  return *this;
}

void Ref::push(lua_State* L) const {
  if (key_ == LUA_NOREF) {
    lua_pushnil(L);
  } else {
    lua_rawgeti(L, LUA_REGISTRYINDEX, key_);
  }
}

void Ref::clear() {
  if (key_ != LUA_NOREF) luaL_unref(main_, LUA_REGISTRYINDEX, key_);
  key_ = LUA_NOREF;
}

}  // namespace rtrain::lua
