#include "host/bind/services.h"

#include <cstdio>

#include "host/base/background_thread.h"
#include "host/bind/modules.h"
#include "host/lua/state.h"
#include "host/lua/thread_state.h"
#include "host/worker/progress.h"
#include "host/worker/store_client.h"
#include "host/worker/worker_process.h"

namespace rtrain::bind {
namespace {

constexpr const char* kStateKey = "rtrain.State";

lua_State* new_state() {
  auto* state = new lua::State();
  add_host_modules(*state);
  lua_pushlightuserdata(*state, state);
  lua_setfield(*state, LUA_REGISTRYINDEX, kStateKey);
  lua::set_thread_state(*state);
  return *state;
}

void close_state(lua_State* L) {
  lua::set_thread_state(nullptr);
  lua_getfield(L, LUA_REGISTRYINDEX, kStateKey);
  delete static_cast<lua::State*>(lua_touserdata(L, -1));
}

void warn(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

void write_begun(const std::string& path) {
  if (auto* worker = worker::WorkerProcess::current()) worker->pending_writes().begin(path);
}

void write_ended(const std::string& path, const std::optional<Error>& error) {
  if (auto* worker = worker::WorkerProcess::current()) worker->pending_writes().end(path, error);
}

}  // namespace

const api::HostApi& host_api() {
  static const api::HostApi api = [] {
    api::HostApi out;
    out.new_state = &new_state;
    out.close_state = &close_state;
    out.warn = &warn;
    out.enter_background = &enter_background;
    // Set in every process, because the script's process is itself a worker in local mode.
    out.write_begun = &write_begun;
    out.write_ended = &write_ended;
    worker::add_store_functions(out);
    worker::Progress::add_functions(out);
    return out;
  }();
  return api;
}

}  // namespace rtrain::bind
