#include "host/bind/local_worker.h"

#include <array>
#include <memory>

#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/worker/join_client.h"
#include "host/worker/local_worker.h"

namespace rtrain {
template <>
struct Class<LocalWorker> {
  using Slot = std::unique_ptr<LocalWorker>;
  static constexpr const char* kName = "rtrain.LocalWorker";
};

template <>
struct Class<JoinClient> {
  using Slot = std::unique_ptr<JoinClient>;
  static constexpr const char* kName = "rtrain.JoinClient";
};

namespace {

int take_endpoint(lua_State* L) {
  const int fd = luaL_checkint(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  const bool is_joined = lua_toboolean(L, 3) != 0;
  lua_settop(L, 2);
  push<LocalWorker>(L, std::make_unique<LocalWorker>(L, fd, is_joined));
  return 1;
}

int open_job(lua_State* L) {
  auto place = from_value<JoinPlace>(to_value(L, 1, "place"));
  push<JoinClient>(L, std::make_unique<JoinClient>(std::move(place)));
  return 1;
}

int next_endpoint(lua_State* L) {
  const JoinClient::Next next = check<JoinClient>(L, 1)->next();
  if (next.fd >= 0) {
    lua_pushinteger(L, next.fd);
    return 1;
  }
  lua_pushnil(L);
  push_value(L, next.exit_code ? Value() : to_value(next.ended));
  push_value(L, next.exit_code ? Value(*next.exit_code) : Value());
  return 3;
}

int arm(lua_State* L) {
  check<LocalWorker>(L, 1)->arm();
  return 0;
}

int disarm(lua_State* L) {
  check<LocalWorker>(L, 1)->disarm();
  return 0;
}

int pause_output(lua_State* L) {
  check<LocalWorker>(L, 1)->pause_output();
  return 0;
}

int resume_output(lua_State* L) {
  check<LocalWorker>(L, 1)->resume_output();
  return 0;
}

int finish(lua_State* L) {
  check<LocalWorker>(L, 1)->finish(to_value(L, 2, "the return value of the train function"));
  return 0;
}

int fail(lua_State* L) {
  check<LocalWorker>(L, 1)->fail(to_error(L, 2));
  return 0;
}

int leave(lua_State* L) {
  check<LocalWorker>(L, 1)->leave();
  return 0;
}

}  // namespace

int open_local(lua_State* L) {
  static constexpr std::array kFunctions = {method<&take_endpoint>("join"),
                                            method<&open_job>("job")};
  static constexpr std::array kLocalWorkerMethods = {method<&arm>("arm"),
                                                     method<&disarm>("disarm"),
                                                     method<&pause_output>("pause_output"),
                                                     method<&resume_output>("resume_output"),
                                                     method<&finish>("finish"),
                                                     method<&fail>("fail"),
                                                     method<&leave>("leave")};
  register_class<LocalWorker>(L, kLocalWorkerMethods);
  static constexpr std::array kJoinClientMethods = {method<&next_endpoint>("next")};
  register_class<JoinClient>(L, kJoinClientMethods);
  push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain
