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

namespace rtrain {
template <>
struct Class<ChildCommand> {
  using Slot = std::unique_ptr<ChildCommand>;
  static constexpr const char* kName = "rtrain.ChildCommand";
};
template <>
struct Class<MessageServer> {
  using Slot = std::unique_ptr<MessageServer>;
  static constexpr const char* kName = "rtrain.MessageServer";
};
template <>
struct Class<MessageClient> {
  using Slot = std::unique_ptr<MessageClient>;
  static constexpr const char* kName = "rtrain.MessageClient";
};
template <>
struct Class<SignalWatch> {
  using Slot = std::unique_ptr<SignalWatch>;
  static constexpr const char* kName = "rtrain.SignalWatch";
};

namespace {

int start_child(lua_State* L) {
  const auto options = from_value<ChildCommandOptions>(to_value(L, 1, "options"));
  push<ChildCommand>(L, std::make_unique<ChildCommand>(options));
  return 1;
}

int child_pid(lua_State* L) {
  lua_pushinteger(L, check<ChildCommand>(L, 1)->pid());
  return 1;
}

int child_is_running(lua_State* L) {
  lua_pushboolean(L, check<ChildCommand>(L, 1)->is_running());
  return 1;
}

int send_to_child(lua_State* L) {
  check<ChildCommand>(L, 1)->send(luaL_checkint(L, 2));
  return 0;
}

int finish_child(lua_State* L) {
  const ExitStatus status = check<ChildCommand>(L, 1)->end(luaL_checknumber(L, 2));
  push_value(L, to_text(status));
  const bool has_exited = status.is_known && status.signal == 0;
  push_value(L, has_exited ? Value(status.exit_code) : Value());
  return 2;
}

int serve(lua_State* L) {
  push<MessageServer>(L, std::make_unique<MessageServer>(luaL_checkstring(L, 1)));
  return 1;
}

int next_question(lua_State* L) {
  const auto question = check<MessageServer>(L, 1)->next(luaL_checknumber(L, 2));
  if (!question) return 0;
  push_value(L, question->peer);
  push_value(L, question->value.value_or(Value()));
  return 2;
}

int answer_question(lua_State* L) {
  const Value answer = to_value(L, 3, "answer");
  check<MessageServer>(L, 1)->answer(static_cast<int64_t>(luaL_checknumber(L, 2)), answer);
  return 0;
}

int connect_client(lua_State* L) {
  push<MessageClient>(L, std::make_unique<MessageClient>(luaL_checkstring(L, 1)));
  return 1;
}

int ask(lua_State* L) {
  push_value(L, check<MessageClient>(L, 1)->ask(to_value(L, 2, "question")));
  return 1;
}

int watch_signals(lua_State* L) {
  push<SignalWatch>(L, std::make_unique<SignalWatch>());
  return 1;
}

int first_signal(lua_State* L) {
  const int number = check<SignalWatch>(L, 1)->first();
  if (number == 0) return 0;
  lua_pushinteger(L, number);
  push_value(L, std::string("SIG") + sigabbrev_np(number));
  return 2;
}

int end_with_parent(lua_State* L) {
  const int parent = luaL_checkint(L, 1);
  const bool is_child = getppid() == parent;
  if (is_child) die_with_parent(parent);
  lua_pushboolean(L, is_child);
  return 1;
}

int own_pid(lua_State* L) {
  lua_pushinteger(L, getpid());
  return 1;
}

int sync_file(lua_State* L) {
  sync_to_disk(luaL_checkstring(L, 1));
  return 0;
}

}  // namespace

int open_tune(lua_State* L) {
  static constexpr std::array kChildMethods = {
      method<&child_pid>("pid"), method<&child_is_running>("is_running"),
      method<&send_to_child>("send"), method<&finish_child>("finish")};
  register_class<ChildCommand>(L, kChildMethods);
  static constexpr std::array kServerMethods = {method<&next_question>("next"),
                                                method<&answer_question>("answer")};
  register_class<MessageServer>(L, kServerMethods);
  static constexpr std::array kClientMethods = {method<&ask>("ask")};
  register_class<MessageClient>(L, kClientMethods);
  static constexpr std::array kWatchMethods = {method<&first_signal>("first")};
  register_class<SignalWatch>(L, kWatchMethods);
  static constexpr std::array kFunctions = {
      method<&start_child>("start"),
      method<&serve>("serve"),
      method<&connect_client>("connect"),
      method<&watch_signals>("watch_signals"),
      method<&end_with_parent>("die_with_parent"),
      method<&own_pid>("pid"),
      method<&sync_file>("sync_file"),
  };
  push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain
