#include "host/bind/track.h"

#include <array>
#include <memory>

#include "host/base/clock.h"
#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/track/follower.h"

template <>
struct rtrain::lua::Class<rtrain::track::Follower> {
  using Slot = std::unique_ptr<rtrain::track::Follower>;
  static constexpr const char* kName = "rtrain.Follower";
};

namespace rtrain::bind {
namespace {

using track::Follower;

int follow(lua_State* L) {
  lua::push<Follower>(L, std::make_unique<Follower>(luaL_checkstring(L, 1), luaL_checkstring(L, 2),
                                                    lua::to_value(L, 3, "the tracker")));
  return 1;
}

int problem(lua_State* L) {
  const auto text = lua::check<Follower>(L, 1)->problem();
  if (!text) return 0;
  lua::push_value(L, *text);
  return 1;
}

int finish(lua_State* L) {
  lua_pushboolean(L, lua::check<Follower>(L, 1)->finish(to_ms(luaL_checknumber(L, 2))));
  return 1;
}

int close(lua_State* L) {
  lua::check<Follower>(L, 1).reset();
  return 0;
}

}  // namespace

int open_track(lua_State* L) {
  static constexpr std::array kMethods = {lua::method<&problem>("problem"),
                                          lua::method<&finish>("finish"),
                                          lua::method<&close>("close")};
  lua::register_class<Follower>(L, kMethods);
  static constexpr std::array kFunctions = {lua::method<&follow>("follow")};
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
