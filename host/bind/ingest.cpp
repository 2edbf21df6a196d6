#include "host/bind/ingest.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "host/base/codec/record.h"
#include "host/loop/processes/helper_process.h"
#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/machine/machine.h"
#include "host/machine/processes/thread_cpus.h"
#include "host/node/workers/worker_place.h"
#include "host/worker/far_ingest.h"
#include "host/worker/worker_process.h"

template <>
struct rtrain::lua::Class<rtrain::loop::HelperProcess> {
  using Slot = std::unique_ptr<rtrain::loop::HelperProcess>;
  static constexpr const char* kName = "rtrain.IngestProcess";
};

template <>
struct rtrain::lua::Class<rtrain::worker::FarIngest> {
  using Slot = std::unique_ptr<rtrain::worker::FarIngest>;
  static constexpr const char* kName = "rtrain.FarIngestProcess";
};

namespace rtrain::bind {
namespace {

std::vector<int> to_numbers(const Value& list) {
  std::vector<int> out;
  if (list.is_nil()) return out;
  for (const Value& each : list.as_list()) out.push_back(static_cast<int>(each.as_int()));
  return out;
}

struct IngestOptions {
  static constexpr std::string_view kClass = "IngestOptions";
  int threads = 1;
  std::optional<std::vector<int>> cpus;  // none: the processors of this thread

  static constexpr RecordFields kFields{required("threads", &IngestOptions::threads),
                                        optional("cpus", &IngestOptions::cpus)};
};

int start(lua_State* L) {
  const auto number = static_cast<int64_t>(luaL_checknumber(L, 1));
  const auto given = from_value<IngestOptions>(lua::to_value(L, 2, "options"));
  loop::HelperOptions options;
  options.args = {"--ingest", std::to_string(number)};
  // Hides the devices, because the rank uses them.
  options.env = {{"OMP_NUM_THREADS", std::to_string(given.threads)}, {node::kVisibleDevices, ""}};
  options.cpus = given.cpus.value_or(std::vector<int>());
  options.engine_fd = lua::engine_fd();
  lua::push<loop::HelperProcess>(L, std::make_unique<loop::HelperProcess>(options));
  return 1;
}

// start_far(number, threads) → process on another node, its name; nil if every node has ranks
int start_far(lua_State* L) {
  worker::WorkerProcess* worker = worker::WorkerProcess::current();
  if (worker == nullptr) return 0;
  auto process = worker::FarIngest::start(*worker, static_cast<int>(luaL_checkinteger(L, 1)),
                                          static_cast<int>(luaL_checkinteger(L, 2)));
  if (!process) return 0;
  const std::string host = process->host();
  lua::push<worker::FarIngest>(L, std::move(process));
  lua::push_value(L, host);
  return 2;
}

int take_far_socket(lua_State* L) {
  lua_pushinteger(L, lua::check<worker::FarIngest>(L, 1)->take_socket());
  return 1;
}

int end_far(lua_State* L) {
  lua::check<worker::FarIngest>(L, 1)->end();
  return 0;
}

int pid(lua_State* L) {
  lua_pushinteger(L, lua::check<loop::HelperProcess>(L, 1)->pid());
  return 1;
}

int take_socket(lua_State* L) {
  lua_pushinteger(L, lua::check<loop::HelperProcess>(L, 1)->take_socket());
  return 1;
}

int finish(lua_State* L) {
  lua::push_value(
      L, loop::to_text(lua::check<loop::HelperProcess>(L, 1)->end(luaL_checknumber(L, 2))));
  return 1;
}

int processors(lua_State* L) {
  List out;
  for (const int cpu : machine::own_processors()) out.emplace_back(int64_t{cpu});
  lua::push_value(L, out);
  return 1;
}

int bind(lua_State* L) {
  machine::bind_all_threads(to_numbers(lua::to_value(L, 1, "processors")));
  return 0;
}

}  // namespace

int open_ingest(lua_State* L) {
  static constexpr std::array kMethods = {lua::method<&pid>("pid"),
                                          lua::method<&take_socket>("take_socket"),
                                          lua::method<&finish>("finish")};
  lua::register_class<loop::HelperProcess>(L, kMethods);
  static constexpr std::array kFarMethods = {lua::method<&take_far_socket>("take_socket"),
                                             lua::method<&end_far>("finish")};
  lua::register_class<worker::FarIngest>(L, kFarMethods);
  static constexpr std::array kFunctions = {
      lua::method<&start>("start"), lua::method<&start_far>("start_far"),
      lua::method<&processors>("processors"), lua::method<&bind>("bind")};
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
