#include "host/bind/local_worker.h"

#include <array>
#include <memory>

#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/worker/local_worker.h"

namespace rtrain {
namespace {
int disarm(lua_State* L);
int finish(lua_State* L);
int fail(lua_State* L);
int leave(lua_State* L);
}  // namespace

template <>
struct Class<LocalWorker> {
  using Slot = std::unique_ptr<LocalWorker>;
  static constexpr const char* kName = "rtrain.LocalWorker";
  static constexpr std::array kMethods = {method<&disarm>("disarm"), method<&finish>("finish"),
                                          method<&fail>("fail"), method<&leave>("leave")};
};

namespace {

int take_seat(lua_State* L) {
  const int fd = luaL_checkint(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  push<LocalWorker>(L, std::make_unique<LocalWorker>(L, fd));
  return 1;
}

int disarm(lua_State* L) {
  check<LocalWorker>(L, 1)->disarm();
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
  static constexpr std::array kFunctions = {method<&take_seat>("join")};
  register_class<LocalWorker>(L);
  push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain
