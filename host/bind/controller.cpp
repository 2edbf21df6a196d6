#include "host/bind/controller.h"

#include <array>
#include <memory>

#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/train/run.h"

namespace rtrain {
template <>
struct Class<Run> {
  using Slot = std::unique_ptr<Run>;
  static constexpr const char* kName = "rtrain.Run";
};

namespace {

int open(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  push<Run>(L, std::make_unique<Run>(RunSpec::from_value(to_value(L, 1, "spec"))));
  return 1;
}

int run_id(lua_State* L) {
  push_value(L, check<Run>(L, 1)->run_id());
  return 1;
}

int start(lua_State* L) {
  check<Run>(L, 1)->start();
  return 0;
}

int request_stop(lua_State* L) {
  const std::string_view name = luaL_checkstring(L, 2);
  const std::string by = luaL_optstring(L, 3, "");
  for (const auto kind :
       {StopKind::kPredicate, StopKind::kInterrupt, StopKind::kOperator, StopKind::kTerminate}) {
    if (stop_name(kind) != name) continue;
    check<Run>(L, 1)->request_stop(kind, by);
    return 0;
  }
  throw Error(Code::kArgument, cat("request_stop: unknown kind '", name, "'"));
}

int add_event(lua_State* L) {
  check<Run>(L, 1)->add_event(luaL_checkinteger(L, 2), luaL_checkstring(L, 3),
                              luaL_checkstring(L, 4));
  return 0;
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
  static constexpr std::array kFunctions = {method<&open>("open")};
  static constexpr std::array kRunMethods = {method<&run_id>("run_id"),
                                             method<&start>("start"),
                                             method<&request_stop>("request_stop"),
                                             method<&add_event>("add_event"),
                                             method<&next_event>("next_event"),
                                             method<&answer>("answer"),
                                             method<&answer_error>("answer_error"),
                                             method<&close>("close")};
  register_class<Run>(L, kRunMethods);
  push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain
