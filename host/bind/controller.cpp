#include "host/bind/controller.h"

#include <array>
#include <memory>

#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/train/run.h"

template <>
struct rtrain::lua::Class<rtrain::train::Run> {
  using Slot = std::unique_ptr<rtrain::train::Run>;
  static constexpr const char* kName = "rtrain.Run";
};

namespace rtrain::bind {
namespace {

int open(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua::push<train::Run>(
      L, std::make_unique<train::Run>(train::RunSpec::from_value(lua::to_value(L, 1, "spec"))));
  return 1;
}

int run_id(lua_State* L) {
  lua::push_value(L, lua::check<train::Run>(L, 1)->run_id());
  return 1;
}

int start(lua_State* L) {
  lua::check<train::Run>(L, 1)->start();
  return 0;
}

int request_stop(lua_State* L) {
  const std::string_view name = luaL_checkstring(L, 2);
  const std::string by = luaL_optstring(L, 3, "");
  for (const auto kind : {decide::StopKind::kPredicate, decide::StopKind::kInterrupt,
                          decide::StopKind::kOperator, decide::StopKind::kTerminate}) {
    if (decide::stop_name(kind) != name) continue;
    lua::check<train::Run>(L, 1)->request_stop(kind, by);
    return 0;
  }
  throw Error(Code::kArgument, cat("request_stop: unknown kind '", name, "'"));
}

int add_event(lua_State* L) {
  lua::check<train::Run>(L, 1)->add_event(luaL_checkinteger(L, 2), luaL_checkstring(L, 3),
                                          luaL_checkstring(L, 4));
  return 0;
}

int next_event(lua_State* L) {
  const auto event = lua::check<train::Run>(L, 1)->next_event(luaL_checknumber(L, 2));
  lua::push_value(L, event ? *event : Value());
  return 1;
}

int answer(lua_State* L) {
  lua::check<train::Run>(L, 1)->answer(luaL_checkinteger(L, 2), lua::to_value(L, 3, "the answer"));
  return 0;
}

int answer_error(lua_State* L) {
  lua::check<train::Run>(L, 1)->answer_error(luaL_checkinteger(L, 2), lua::to_error(L, 3));
  return 0;
}

int close(lua_State* L) {
  lua::check<train::Run>(L, 1)->close();
  return 0;
}

}  // namespace

int open_controller(lua_State* L) {
  static constexpr std::array kFunctions = {lua::method<&open>("open")};
  static constexpr std::array kRunMethods = {lua::method<&run_id>("run_id"),
                                             lua::method<&start>("start"),
                                             lua::method<&request_stop>("request_stop"),
                                             lua::method<&add_event>("add_event"),
                                             lua::method<&next_event>("next_event"),
                                             lua::method<&answer>("answer"),
                                             lua::method<&answer_error>("answer_error"),
                                             lua::method<&close>("close")};
  lua::register_class<train::Run>(L, kRunMethods);
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
