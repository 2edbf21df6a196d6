#include "host/bind/local_worker.h"

#include <array>
#include <memory>

#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/worker/join_client.h"
#include "host/worker/local_worker.h"

template <>
struct rtrain::lua::Class<rtrain::worker::LocalWorker> {
  using Slot = std::unique_ptr<rtrain::worker::LocalWorker>;
  static constexpr const char* kName = "rtrain.LocalWorker";
};

template <>
struct rtrain::lua::Class<rtrain::worker::JoinClient> {
  using Slot = std::unique_ptr<rtrain::worker::JoinClient>;
  static constexpr const char* kName = "rtrain.JoinClient";
};

namespace rtrain::bind {
namespace {

int take_endpoint(lua_State* L) {
  const int fd = luaL_checkint(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  const bool is_joined = lua_toboolean(L, 3) != 0;
  lua_settop(L, 2);
  lua::push<worker::LocalWorker>(L, std::make_unique<worker::LocalWorker>(L, fd, is_joined));
  return 1;
}

int open_job(lua_State* L) {
  auto place = from_value<worker::JoinPlace>(lua::to_value(L, 1, "place"));
  lua::push<worker::JoinClient>(L, std::make_unique<worker::JoinClient>(std::move(place)));
  return 1;
}

int next_endpoint(lua_State* L) {
  const worker::JoinClient::Next next = lua::check<worker::JoinClient>(L, 1)->next();
  if (next.fd >= 0) {
    lua_pushinteger(L, next.fd);
    return 1;
  }
  lua_pushnil(L);
  lua::push_value(L, next.exit_code ? Value() : to_value(next.ended));
  lua::push_value(L, next.exit_code ? Value(*next.exit_code) : Value());
  return 3;
}

int arm(lua_State* L) {
  lua::check<worker::LocalWorker>(L, 1)->arm();
  return 0;
}

int disarm(lua_State* L) {
  lua::check<worker::LocalWorker>(L, 1)->disarm();
  return 0;
}

int pause_output(lua_State* L) {
  lua::check<worker::LocalWorker>(L, 1)->pause_output();
  return 0;
}

int resume_output(lua_State* L) {
  lua::check<worker::LocalWorker>(L, 1)->resume_output();
  return 0;
}

int finish(lua_State* L) {
  lua::check<worker::LocalWorker>(L, 1)->finish(
      lua::to_value(L, 2, "the return value of the train function"));
  return 0;
}

int fail(lua_State* L) {
  lua::check<worker::LocalWorker>(L, 1)->fail(lua::to_error(L, 2));
  return 0;
}

int leave(lua_State* L) {
  lua::check<worker::LocalWorker>(L, 1)->leave();
  return 0;
}

}  // namespace

int open_local(lua_State* L) {
  static constexpr std::array kFunctions = {lua::method<&take_endpoint>("join"),
                                            lua::method<&open_job>("job")};
  static constexpr std::array kLocalWorkerMethods = {lua::method<&arm>("arm"),
                                                     lua::method<&disarm>("disarm"),
                                                     lua::method<&pause_output>("pause_output"),
                                                     lua::method<&resume_output>("resume_output"),
                                                     lua::method<&finish>("finish"),
                                                     lua::method<&fail>("fail"),
                                                     lua::method<&leave>("leave")};
  lua::register_class<worker::LocalWorker>(L, kLocalWorkerMethods);
  static constexpr std::array kJoinClientMethods = {lua::method<&next_endpoint>("next")};
  lua::register_class<worker::JoinClient>(L, kJoinClientMethods);
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
