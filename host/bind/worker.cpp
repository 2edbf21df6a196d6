#include "host/bind/worker.h"

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "host/base/codec/json.h"
#include "host/base/text/text.h"
#include "host/bind/services.h"
#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/number_entries.h"
#include "host/worker/worker_process.h"

namespace rtrain::bind {
namespace {

worker::WorkerProcess& worker() {
  if (auto* current = worker::WorkerProcess::current()) return *current;
  throw Error(Code::kArgument, "this works only inside the train function, in a worker");
}

int context(lua_State* L) {
  lua::push_value(L, to_value(worker().context()));
  return 1;
}

int take_place(lua_State* /*L*/) {
  worker().take_place();
  return 0;
}

int functions(lua_State* L) {
  const std::string bytes = worker().functions();
  lua_pushlstring(L, bytes.data(), bytes.size());
  return 1;
}

int phase(lua_State* L) {
  worker().set_phase(luaL_checkstring(L, 1));
  return 0;
}

std::string bytes_at(lua_State* L, int index) {
  size_t size = 0;
  const char* data = luaL_checklstring(L, index, &size);
  return {data, size};
}

int synchronize(lua_State* L) {
  const std::string data =
      worker().collectives().synchronize(bytes_at(L, 1), lua::user_position(L), bytes_at(L, 2));
  lua_pushlstring(L, data.data(), data.size());
  return 1;
}

worker::ReportOptions report_options(lua_State* L, int index) {
  worker::ReportOptions options;
  if (!lua_isnoneornil(L, index)) {
    options = from_value<worker::ReportOptions>(lua::to_value(L, index, "options"));
  }
  options.call_site = lua::user_position(L);
  return options;
}

void push_path(lua_State* L, const std::optional<std::string>& path) {
  lua::push_value(L, path ? Value(*path) : Value());
}

int report(lua_State* L) {
  Value metrics = lua::to_value(L, 1, "metrics");
  push_path(L, worker().reporter().report(std::move(metrics), report_options(L, 2)));
  return 1;
}

int begin_upload(lua_State* L) {
  Value metrics = lua::to_value(L, 1, "metrics");
  lua::push_value(L, worker().reporter().begin_upload(std::move(metrics), report_options(L, 2)));
  return 1;
}

int end_upload(lua_State* L) {
  const std::string folder = luaL_checkstring(L, 1);
  push_path(L, worker().reporter().end_upload(folder, lua_toboolean(L, 2) != 0));
  return 1;
}

int fail_upload(lua_State* L) {
  worker().reporter().fail_upload(lua::to_error(L, 1));
  return 0;
}

int log(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const auto entries = lua::number_entries(L, 1);
  if (!entries) return 1;
  std::optional<int64_t> step;
  if (!lua_isnoneornil(L, 2)) step = luaL_checkinteger(L, 2);
  worker().series_log().add(*entries, step);
  return 0;
}

int log_own(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const auto entries = lua::number_entries(L, 1);
  if (!entries) return 1;
  worker().series_log().add_own(*entries, luaL_checkinteger(L, 2));
  return 0;
}

int annotate(lua_State* L) {
  worker().annotate(bytes_at(L, 2), bytes_at(L, 1));
  return 0;
}

int log_media(lua_State* L) {
  message::Media media;
  media.kind = bytes_at(L, 1);
  media.name = bytes_at(L, 2);
  media.step = static_cast<int64_t>(luaL_checknumber(L, 3));
  media.data = lua_istable(L, 4) ? to_json(lua::to_value(L, 4, media.kind)) : bytes_at(L, 4);
  worker().log_media(std::move(media));
  return 0;
}

PhaseClock& phase_clock() {
  PhaseClock* const clock = worker().progress().phases();
  if (clock == nullptr) throw Error(Code::kArgument, "this is not the rank's main thread");
  return *clock;
}

int start_phases(lua_State*) {
  phase_clock();
  worker().progress().start_phases();
  return 0;
}

int phase_seconds(lua_State* L) {
  const int64_t steps = phase_clock().steps();
  const auto phases = worker().progress().phase_seconds();
  lua_createtable(L, 0, static_cast<int>(phases.size()));
  for (const auto& [name, seconds] : phases) {
    lua_pushnumber(L, seconds);
    lua_setfield(L, -2, name);
  }
  lua_pushinteger(L, steps);
  return 2;
}

int report_not_finite(lua_State* L) {
  worker().report_not_finite({.step = luaL_checkinteger(L, 1),
                              .what = bytes_at(L, 2),
                              .place = bytes_at(L, 3),
                              .is_in_replica = lua_toboolean(L, 4) != 0});
  return 0;
}

int show_loop(lua_State* L) {
  worker().show_loop(from_value<message::LoopProgress>(lua::to_value(L, 1, "progress")));
  return 0;
}

int report_health(lua_State* L) {
  worker().report_health(bytes_at(L, 1), lua_toboolean(L, 2) != 0);
  return 0;
}

int last_checkpoint(lua_State* L) {
  push_path(L, worker().reporter().last_checkpoint());
  return 1;
}

int is_stopping(lua_State* L) {
  lua_pushboolean(L, worker().is_stopping());
  return 1;
}

int stop_requested(lua_State* L) {
  lua_pushboolean(L, worker().stop_requested());
  return 1;
}

int reported_checkpoints(lua_State* L) {
  std::optional<double> timeout_s;
  if (!lua_isnoneornil(L, 2)) timeout_s = luaL_checknumber(L, 2);
  lua::push_value(L, worker().checkpoints().reported(lua_toboolean(L, 1) != 0, timeout_s));
  return 1;
}

int set_damaged(lua_State* L) {
  worker().checkpoints().set_damaged(luaL_checkstring(L, 1), luaL_checkstring(L, 2));
  return 0;
}

int busy(lua_State* L) {
  worker().progress().set_busy(luaL_checkstring(L, 1), luaL_checknumber(L, 2));
  return 0;
}

int set_program(lua_State* L) {
  worker().progress().set_program(luaL_checkint(L, 1));
  return 0;
}

int set_gpus(lua_State* L) {
  std::vector<int> gpus;
  luaL_checktype(L, 1, LUA_TTABLE);
  for (int i = 1; i <= static_cast<int>(lua_objlen(L, 1)); ++i) {
    lua_rawgeti(L, 1, i);
    gpus.push_back(static_cast<int>(luaL_checkinteger(L, -1)));
    lua_pop(L, 1);
  }
  worker().set_gpus(gpus);
  return 0;
}

int set_returned(lua_State*) {
  worker().progress().set_returned();
  return 0;
}

int make_tempdir(lua_State* L) {
  lua::push_value(L, worker().make_tempdir());
  return 1;
}

int store_set(lua_State* L) {
  worker();
  host_api().store_set(bytes_at(L, 1), bytes_at(L, 2));
  return 0;
}

int store_get(lua_State* L) {
  worker();
  const std::chrono::duration<double> timeout(luaL_checknumber(L, 2));
  const std::string value =
      host_api().store_get(bytes_at(L, 1), std::chrono::ceil<std::chrono::milliseconds>(timeout));
  lua_pushlstring(L, value.data(), value.size());
  return 1;
}

int store_delete(lua_State* L) {
  worker();
  lua_pushboolean(L, host_api().store_delete(bytes_at(L, 1)));
  return 1;
}

int ask_script(lua_State* L) {
  Value argument = lua::to_value(L, 2, "argument");
  lua::push_value(L, worker().ask_script(luaL_checkstring(L, 1), std::move(argument),
                                         luaL_checknumber(L, 3), luaL_checkstring(L, 4)));
  return 1;
}

}  // namespace

int open_worker(lua_State* L) {
  static constexpr std::array kFunctions = {
      lua::method<&context>("context"),
      lua::method<&take_place>("take_place"),
      lua::method<&functions>("functions"),
      lua::method<&phase>("phase"),
      lua::method<&start_phases>("start_phases"),
      lua::method<&phase_seconds>("phase_seconds"),
      lua::method<&report>("report"),
      lua::method<&begin_upload>("begin_upload"),
      lua::method<&end_upload>("end_upload"),
      lua::method<&fail_upload>("fail_upload"),
      lua::method<&last_checkpoint>("last_checkpoint"),
      lua::method<&stop_requested>("stop_requested"),
      lua::method<&is_stopping>("is_stopping"),
      lua::method<&log>("log"),
      lua::method<&log_own>("log_own"),
      lua::method<&annotate>("annotate"),
      lua::method<&log_media>("log_media"),
      lua::method<&report_not_finite>("report_not_finite"),
      lua::method<&report_health>("report_health"),
      lua::method<&show_loop>("show_loop"),
      lua::method<&busy>("busy"),
      lua::method<&set_program>("set_program"),
      lua::method<&set_gpus>("set_gpus"),
      lua::method<&set_returned>("set_returned"),
      lua::method<&make_tempdir>("make_tempdir"),
      lua::method<&synchronize>("synchronize"),
      lua::method<&reported_checkpoints>("reported_checkpoints"),
      lua::method<&set_damaged>("set_damaged"),
      lua::method<&ask_script>("ask_script"),
      lua::method<&store_set>("store_set"),
      lua::method<&store_get>("store_get"),
      lua::method<&store_delete>("store_delete"),
  };
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
