// host/engine/data/channels.cpp: torch._C.data.Channel and other functions for processes that
// produce blocks for another process (modules/rtrain/data/ingest).
#include <ATen/core/grad_mode.h>

#include <array>
#include <cmath>
#include <memory>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/engine/data/tree_channel.h"
#include "host/engine/runtime/blocking.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/loader_thread.h"
#include "host/engine/runtime/open.h"

template <>
struct rtrain::lua::Class<rtrain::engine::TreeChannel> {
  using Slot = std::unique_ptr<rtrain::engine::TreeChannel>;
  static constexpr const char* kName = "torch.data.Channel";
};

namespace rtrain::engine {
namespace {

std::chrono::milliseconds seconds_at(lua_State* L, int index) {
  constexpr double kMost = 1e9;
  const double seconds = luaL_checknumber(L, index);
  if (!(seconds >= 0)) throw Error(Code::kArgument, "a time-out is a number from 0 on");
  return to_ms(std::fmin(seconds, kMost));
}

// Channel(fd): the channel takes ownership of the descriptor.
int new_channel(lua_State* L) {
  lua::push<TreeChannel>(L, TreeChannel::open(Fd(luaL_checkint(L, 1))));
  return 1;
}

// send(value, timeout_s) → number of bytes, or nil if the other process has ended
int send(lua_State* L) {
  TreeChannel& channel = *lua::check<TreeChannel>(L, 1);
  const auto bytes = channel.send(to_tree(L, 2, "message"), seconds_at(L, 3));
  if (!bytes) return 0;
  lua_pushnumber(L, static_cast<double>(*bytes));
  return 1;
}

TreeChannel::Received receive_from(lua_State* L, TreeChannel& channel) {
  const std::chrono::milliseconds timeout = seconds_at(L, 2);
  if (lua_isnoneornil(L, 3)) return channel.receive(timeout);
  const api::HostApi& api = host(L);
  const BlockingRegion region(api, WaitKind::kData, luaL_checkstring(L, 3));
  TreeChannel::Received received = channel.receive(timeout);
  if (received.kind == TreeChannel::Received::Kind::kTree && api.batches != nullptr) {
    api.batches->fetch_add(1, std::memory_order_relaxed);
  }
  return received;
}

// receive(timeout_s[, operation]) → 'message', value | 'closed' | 'timeout'; `operation` names what
// the rank waits for, in status outputs
int receive(lua_State* L) {
  const TreeChannel::Received received = receive_from(L, *lua::check<TreeChannel>(L, 1));
  switch (received.kind) {
    case TreeChannel::Received::Kind::kClosed:
      lua_pushliteral(L, "closed");
      return 1;
    case TreeChannel::Received::Kind::kTimeout:
      lua_pushliteral(L, "timeout");
      return 1;
    case TreeChannel::Received::Kind::kTree:
      break;
  }
  lua_pushliteral(L, "message");
  push_tree(L, received.tree);
  return 2;
}

// enter_loader(): makes this thread behave like a Pool's thread: no autograd, no default generator.
int enter_loader(lua_State*) {
  static thread_local const LoaderThread no_default_generator;
  c10::GradMode::set_enabled(false);
  return 0;
}

// raise(code, message, traceback): raises another process's error, at the line of this process's
// script.
int raise(lua_State* L) {
  const Code code = code_from_name(luaL_checkstring(L, 1)).value_or(Code::kUser);
  const std::string line = lua::user_position(L);
  const std::string message = luaL_checkstring(L, 2);
  throw Error(code, line.empty() ? message : cat(line, ": ", message), luaL_checkstring(L, 3));
}

}  // namespace

void open_channels(lua_State* L) {
  static constexpr std::array kMethods = {torch_method<&send>("send"),
                                          torch_method<&receive>("receive")};
  lua::register_class<TreeChannel>(L, kMethods);
  static constexpr std::array kFunctions = {torch_method<&new_channel>("Channel"),
                                            torch_method<&enter_loader>("enter_loader"),
                                            torch_method<&raise>("raise")};
  lua_getfield(L, -1, "data");
  lua::add_functions(L, kFunctions);
  lua_pop(L, 1);
}

}  // namespace rtrain::engine
