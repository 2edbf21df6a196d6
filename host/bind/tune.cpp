#include "host/bind/tune.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>

#include "host/loop/channel/message_server.h"
#include "host/loop/processes/child_command.h"
#include "host/loop/signal_watch.h"
#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/store/files/disk_sync.h"

template <>
struct rtrain::lua::Class<rtrain::loop::ChildCommand> {
  using Slot = std::unique_ptr<rtrain::loop::ChildCommand>;
  static constexpr const char* kName = "rtrain.ChildCommand";
};

template <>
struct rtrain::lua::Class<rtrain::loop::MessageServer> {
  using Slot = std::unique_ptr<rtrain::loop::MessageServer>;
  static constexpr const char* kName = "rtrain.MessageServer";
};

template <>
struct rtrain::lua::Class<rtrain::loop::MessageClient> {
  using Slot = std::unique_ptr<rtrain::loop::MessageClient>;
  static constexpr const char* kName = "rtrain.MessageClient";
};

template <>
struct rtrain::lua::Class<rtrain::loop::SignalWatch> {
  using Slot = std::unique_ptr<rtrain::loop::SignalWatch>;
  static constexpr const char* kName = "rtrain.SignalWatch";
};

namespace rtrain::bind {
namespace {

int start_child(lua_State* L) {
  const auto options = from_value<loop::ChildCommandOptions>(lua::to_value(L, 1, "options"));
  lua::push<loop::ChildCommand>(L, std::make_unique<loop::ChildCommand>(options));
  return 1;
}

int child_pid(lua_State* L) {
  lua_pushinteger(L, lua::check<loop::ChildCommand>(L, 1)->pid());
  return 1;
}

int child_is_running(lua_State* L) {
  lua_pushboolean(L, lua::check<loop::ChildCommand>(L, 1)->is_running());
  return 1;
}

int send_to_child(lua_State* L) {
  lua::check<loop::ChildCommand>(L, 1)->send(luaL_checkint(L, 2));
  return 0;
}

int finish_child(lua_State* L) {
  const loop::ExitStatus status = lua::check<loop::ChildCommand>(L, 1)->end(luaL_checknumber(L, 2));
  lua::push_value(L, loop::to_text(status));
  const bool has_exited = status.is_known && status.signal == 0;
  lua::push_value(L, has_exited ? Value(status.exit_code) : Value());
  return 2;
}

int serve(lua_State* L) {
  lua::push<loop::MessageServer>(L, std::make_unique<loop::MessageServer>(luaL_checkstring(L, 1)));
  return 1;
}

int next_question(lua_State* L) {
  const auto question = lua::check<loop::MessageServer>(L, 1)->next(luaL_checknumber(L, 2));
  if (!question) return 0;
  lua::push_value(L, question->peer);
  lua::push_value(L, question->value.value_or(Value()));
  return 2;
}

int answer_question(lua_State* L) {
  const Value answer = lua::to_value(L, 3, "answer");
  lua::check<loop::MessageServer>(L, 1)->answer(static_cast<int64_t>(luaL_checknumber(L, 2)),
                                                answer);
  return 0;
}

int connect_client(lua_State* L) {
  lua::push<loop::MessageClient>(L, std::make_unique<loop::MessageClient>(luaL_checkstring(L, 1)));
  return 1;
}

int ask(lua_State* L) {
  lua::push_value(L, lua::check<loop::MessageClient>(L, 1)->ask(lua::to_value(L, 2, "question")));
  return 1;
}

int watch_signals(lua_State* L) {
  lua::push<loop::SignalWatch>(L, std::make_unique<loop::SignalWatch>());
  return 1;
}

int first_signal(lua_State* L) {
  const int number = lua::check<loop::SignalWatch>(L, 1)->first();
  if (number == 0) return 0;
  lua_pushinteger(L, number);
  lua::push_value(L, std::string("SIG") + sigabbrev_np(number));
  return 2;
}

int end_with_parent(lua_State* L) {
  const int parent = luaL_checkint(L, 1);
  const bool is_child = getppid() == parent;
  if (is_child) loop::die_with_parent(parent);
  lua_pushboolean(L, is_child);
  return 1;
}

int own_pid(lua_State* L) {
  lua_pushinteger(L, getpid());
  return 1;
}

int sync_file(lua_State* L) {
  store::sync_to_disk(luaL_checkstring(L, 1));
  return 0;
}

}  // namespace

int open_tune(lua_State* L) {
  static constexpr std::array kChildMethods = {
      lua::method<&child_pid>("pid"), lua::method<&child_is_running>("is_running"),
      lua::method<&send_to_child>("send"), lua::method<&finish_child>("finish")};
  lua::register_class<loop::ChildCommand>(L, kChildMethods);
  static constexpr std::array kServerMethods = {lua::method<&next_question>("next"),
                                                lua::method<&answer_question>("answer")};
  lua::register_class<loop::MessageServer>(L, kServerMethods);
  static constexpr std::array kClientMethods = {lua::method<&ask>("ask")};
  lua::register_class<loop::MessageClient>(L, kClientMethods);
  static constexpr std::array kWatchMethods = {lua::method<&first_signal>("first")};
  lua::register_class<loop::SignalWatch>(L, kWatchMethods);
  static constexpr std::array kFunctions = {
      lua::method<&start_child>("start"),
      lua::method<&serve>("serve"),
      lua::method<&connect_client>("connect"),
      lua::method<&watch_signals>("watch_signals"),
      lua::method<&end_with_parent>("die_with_parent"),
      lua::method<&own_pid>("pid"),
      lua::method<&sync_file>("sync_file"),
  };
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
