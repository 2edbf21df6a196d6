#include "host/lua/main_state.h"

namespace rtrain::lua {
namespace {

constexpr const char* kMainState = "rtrain.main_state";

}  // namespace

lua_State* main_state(lua_State* L) {
  lua_getfield(L, LUA_REGISTRYINDEX, kMainState);
  auto* main = static_cast<lua_State*>(lua_touserdata(L, -1));
  lua_pop(L, 1);
  return main;
}

void set_main_state(lua_State* L) {
  lua_pushlightuserdata(L, L);
  lua_setfield(L, LUA_REGISTRYINDEX, kMainState);
}

}  // namespace rtrain::lua
