#include "host/bind/worker.h"

#include <array>
#include <chrono>

#include "host/bind/services.h"
#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/worker/worker_process.h"

namespace rtrain {
namespace {

WorkerProcess& worker() {
  if (auto* current = WorkerProcess::current()) return *current;
  throw Error(Code::kArgument, "this works only inside the train function, in a worker");
}

int context(lua_State* L) {
  push_value(L, to_value(worker().context()));
  return 1;
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

int report(lua_State* L) {
  const Value metrics = to_value(L, 1, "metrics");
  const Value given = lua_isnoneornil(L, 2) ? Value(Map{}) : to_value(L, 2, "options");
  ReportOptions options;
  if (!given["checkpoint"].is_nil()) options.checkpoint = given["checkpoint"].as_string();
  options.temporary = given["temporary"].bool_or(false);
  options.directory_name = given["checkpoint_dir_name"].string_or("");
  const auto path = worker().report(metrics, options);
  push_value(L, path ? Value(*path) : Value());
  return 1;
}

int starting_checkpoint(lua_State* L) {
  push_value(L, worker().context().starting_checkpoint);
  return 1;
}

int make_tempdir(lua_State* L) {
  push_value(L, worker().make_tempdir());
  return 1;
}

std::string bytes_at(lua_State* L, int index) {
  size_t size = 0;
  const char* data = luaL_checklstring(L, index, &size);
  return {data, size};
}

// The user's line is the first Lua frame outside the modules.
int meet(lua_State* L) {
  const std::string data =
      worker().collectives().meet(bytes_at(L, 1), user_position(L), bytes_at(L, 2));
  lua_pushlstring(L, data.data(), data.size());
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

}  // namespace

int open_worker(lua_State* L) {
  static constexpr std::array kFunctions = {
      method<&context>("context"),
      method<&functions>("functions"),
      method<&phase>("phase"),
      method<&report>("report"),
      method<&starting_checkpoint>("starting_checkpoint"),
      method<&make_tempdir>("make_tempdir"),
      method<&meet>("meet"),
      method<&store_set>("store_set"),
      method<&store_get>("store_get"),
      method<&store_delete>("store_delete"),
  };
  push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain
