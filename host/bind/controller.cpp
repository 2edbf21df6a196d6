#include "host/bind/controller.h"

#include <array>
#include <memory>

#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/train/run.h"

namespace rtrain {
namespace {
int next_event(lua_State* L);
int answer(lua_State* L);
int answer_error(lua_State* L);
int close(lua_State* L);
}  // namespace

template <>
struct Class<Run> {
  using Slot = std::unique_ptr<Run>;
  static constexpr const char* kName = "rtrain.Run";
  static constexpr std::array kMethods = {
      method<&next_event>("next_event"), method<&answer>("answer"),
      method<&answer_error>("answer_error"), method<&close>("close")};
};

namespace {

int start(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  push<Run>(L, std::make_unique<Run>(RunSpec::from_value(to_value(L, 1, "spec"))));
  return 1;
}

int next_event(lua_State* L) {
  const auto event = check<Run>(L, 1)->next_event(luaL_checknumber(L, 2));
  push_value(L, event ? *event : Value());
  return 1;
}

int answer(lua_State* L) {
  check<Run>(L, 1)->answer(luaL_checkinteger(L, 2), to_value(L, 3, "the answer"));
  return 0;
}

int answer_error(lua_State* L) {
  check<Run>(L, 1)->answer_error(luaL_checkinteger(L, 2), to_error(L, 3));
  return 0;
}

int close(lua_State* L) {
  check<Run>(L, 1)->close();
  return 0;
}

}  // namespace

int open_controller(lua_State* L) {
  static constexpr std::array kFunctions = {method<&start>("start")};
  register_class<Run>(L);
  push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain
