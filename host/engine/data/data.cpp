// host/engine/data/data.cpp: torch._C.data.Pool.
#include <array>
#include <cmath>
#include <memory>

#include "host/base/text/text.h"
#include "host/engine/data/pool.h"
#include "host/engine/files/tree.h"
#include "host/engine/memory/allocator.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/runtime/table_fields.h"
#include "host/lua/guard.h"
#include "host/lua/options.h"
#include "host/lua/require.h"

template <>
struct rtrain::lua::Class<rtrain::engine::Pool> {
  using Slot = std::unique_ptr<rtrain::engine::Pool>;
  static constexpr const char* kName = "torch.data.Pool";
};

namespace rtrain::engine {
namespace {

// Serializes the option `fn`. The workers share the memory of its tensors with this thread.
void dump_function(lua_State* L, const lua::Options& given, PoolOptions& options) {
  const ShareStorages share(options.storages);
  lua::push_module_function(L, "base._closure", "dump");
  given.push("fn");
  lua::protected_call(L, 1, 1);
  size_t size = 0;
  const char* bytes = lua_tolstring(L, -1, &size);
  options.function.assign(bytes, size);
  lua_pop(L, 1);
}

int64_t at_least_one(const lua::Options& given, const std::string& owner, const char* name,
                     int64_t fallback) {
  const int64_t value = given.integer(name, fallback);
  if (value < 1 || value > INT32_MAX) {
    throw Error(Code::kArgument, cat(owner, ": ", name, " must be at least 1, got ", value));
  }
  return value;
}

PoolOptions read_options(lua_State* L) {
  const lua::Options given(
      L, 1, "Pool",
      {"fn", "blob", "name", "num_workers", "first_worker", "capacity", "capacity_bytes",
       "in_order", "timeout_s", "close_timeout_s", "timeout_name"});
  PoolOptions options;
  options.name = given.text("name", options.name);
  options.num_workers = static_cast<int>(at_least_one(given, options.name, "num_workers", 1));
  options.first_worker = static_cast<int>(given.integer("first_worker", 0));
  options.board.capacity = static_cast<size_t>(
      at_least_one(given, options.name, "capacity", 2 * int64_t{options.num_workers}));
  const double bytes = given.number("capacity_bytes", INFINITY);
  if (!(bytes >= 1)) throw Error(Code::kArgument, "Pool: capacity_bytes must be at least 1");
  if (bytes < 0x1p63) options.board.capacity_bytes = static_cast<size_t>(bytes);
  options.board.in_order = given.boolean("in_order", true);
  options.timeout = given.seconds("timeout_s", options.timeout);
  options.close_timeout = given.seconds("close_timeout_s", options.close_timeout);
  options.timeout_name = given.text("timeout_name", options.timeout_name);
  options.function = given.text("blob", "");
  if (options.function.empty()) dump_function(L, given, options);
  return options;
}

// Pool{fn = function(request, worker_id), …}, or with blob = the result of base._closure.dump.
int new_pool(lua_State* L) {
  const api::HostApi& api = host(L);
  if (api.new_state == nullptr || api.close_state == nullptr) {
    throw Error(Code::kUnsupported, "this program has no worker threads");
  }
  lua::push<Pool>(L, std::make_unique<Pool>(api, read_options(L)));
  return 1;
}

int submit(lua_State* L) {
  Pool& pool = *lua::check<Pool>(L, 1);
  lua_pushboolean(L, pool.submit(to_tree(L, 2, "request")) ? 1 : 0);
  return 1;
}

// A worker's error has a traceback of its own. The message gets the line of the script that
// received it.
Values next_values(lua_State* L, Pool& pool) {
  try {
    return pool.next();
  } catch (const Error& e) {
    const std::string line = lua::user_position(L);
    if (e.traceback().empty() || line.empty()) throw;
    throw Error(e.code(), cat(line, ": ", e.message()), e.traceback());
  }
}

int next(lua_State* L) {
  const Values values = next_values(L, *lua::check<Pool>(L, 1));
  // Tells this thread's garbage collector about the bytes that a worker allocated.
  for (const Tree& value : values)
    thread_uncollected_bytes += static_cast<int64_t>(tree_bytes(value));
  luaL_checkstack(L, static_cast<int>(values.size()), "too many values in a result");
  for (const Tree& value : values) push_tree(L, value);
  return static_cast<int>(values.size());
}

int clear(lua_State* L) {
  lua::check<Pool>(L, 1)->clear();
  return 0;
}

int in_flight(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(lua::check<Pool>(L, 1)->in_flight()));
  return 1;
}

int close(lua_State* L) {
  lua::check<Pool>(L, 1)->close();
  return 0;
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

int stats(lua_State* L) {
  const BoardStats out = lua::check<Pool>(L, 1)->stats();
  lua_createtable(L, 0, 5);
  lua_createtable(L, static_cast<int>(out.workers.size()), 0);
  for (size_t i = 0; i < out.workers.size(); ++i) {
    lua_createtable(L, 0, 4);
    set_number(L, "busy_s", seconds(out.workers[i].busy));
    set_number(L, "wait_s", seconds(out.workers[i].idle));
    set_number(L, "blocked_s", seconds(out.workers[i].blocked));
    set_number(L, "results", static_cast<double>(out.workers[i].results));
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  lua_setfield(L, -2, "workers");
  set_number(L, "next_wait_s", seconds(out.owner_wait));
  set_number(L, "in_flight", static_cast<double>(out.in_flight));
  set_number(L, "results_waiting", static_cast<double>(out.results_waiting));
  set_number(L, "bytes_waiting", static_cast<double>(out.bytes_waiting));
  return 1;
}

}  // namespace

void open_data(lua_State* L) {
  static constexpr std::array kFunctions = {torch_method<&new_pool>("Pool")};
  static constexpr std::array kPoolMethods = {
      torch_method<&submit>("submit"), torch_method<&next>("next"),
      torch_method<&clear>("clear"),   torch_method<&in_flight>("in_flight"),
      torch_method<&stats>("stats"),   torch_method<&close>("close")};
  lua::register_class<Pool>(L, kPoolMethods);
  lua::push_functions(L, kFunctions);
  lua_setfield(L, -2, "data");
}

}  // namespace rtrain::engine
