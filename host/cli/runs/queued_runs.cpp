#include "host/cli/runs/queued_runs.h"

#include <optional>

#include "host/bind/modules.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/state.h"
#include "host/store/read/run_document.h"

namespace rtrain::cli {
namespace {

// Asks the launchers' Lua modules, modules/rtrain/launch/.
class Launchers {
 public:
  Launchers() { bind::add_host_modules(state_); }

  // Returns nullopt if the launcher does not answer.
  std::optional<bool> is_gone(const std::string& launcher, const std::string& job) {
    lua_getglobal(state_, "require");
    lua_pushstring(state_, "rtrain.launch");
    lua::protected_call(state_, 1, 1);
    lua_getfield(state_, -1, "is_gone");
    lua::push_value(state_, launcher);
    lua::push_value(state_, job);
    lua::protected_call(state_, 2, 1);
    std::optional<bool> out;
    if (!lua_isnil(state_, -1)) out = lua_toboolean(state_, -1) != 0;
    lua_pop(state_, 2);
    return out;
  }

 private:
  lua::State state_;
};

}  // namespace

void find_lost_jobs(List& runs, store::OpenStore& store) {
  std::optional<Launchers> launchers;
  for (Value& run : runs) {
    if (run["status"] != Value("QUEUED")) continue;
    const store::RunRef ref = store.find(run["run_id"].as_string());
    const Value environment = store::read_run(store, ref)["environment"];
    if (!launchers) launchers.emplace();
    const auto gone =
        launchers->is_gone(environment["launcher"].string_or(""), environment["job"].string_or(""));
    if (!gone) return;  // the launcher does not answer, and each further question would wait
    if (*gone) run.as_map().set("status", "LOST");
  }
}

}  // namespace rtrain::cli
