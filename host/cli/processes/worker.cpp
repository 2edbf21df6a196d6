// rtrain --worker RANK PARENT_PID: the process of one rank.
#include <sys/stat.h>

#include <cstdio>
#include <optional>

#include "host/base/fault.h"
#include "host/bind/modules.h"
#include "host/cli/parser/command.h"
#include "host/cli/processes/leave.h"
#include "host/loop/processes/process.h"
#include "host/loop/processes/worker_descriptors.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/worker/worker_process.h"
#include "host/worker/zygote_process.h"

namespace rtrain::cli {
namespace {

// Calls require('rtrain.worker').main() and returns the train function's return value.
Value run_main(lua::State& state) {
  lua::push_module_function(state, "rtrain.worker", "main");
  lua::protected_call(state, 0, 1);
  Value value = lua::to_value(state, -1, "the return value of the train function");
  lua_pop(state, 1);
  return value;
}

}  // namespace

int run_zygote(int parent_pid, char* rank_argument) {
  loop::die_with_parent(parent_pid);
  lua::take_engine_file(loop::kEngineFd);
  try {
    lua::preload_engine();
  } catch (const Error&) {
    // The train function gets this error when it first needs a tensor.
  }
  const int rank = worker::serve_forks(parent_pid, rank_argument);
  set_fault_process(rank);
  return run_worker(rank, parent_pid);
}

int run_worker(int rank, int parent_pid) {
  struct stat info {};
  if (fstat(loop::kChannelFd, &info) != 0 || !S_ISSOCK(info.st_mode)) {
    std::fputs("rtrain: a worker is started by its run alone: `rtrain run`\n", stderr);
    return exit_code(Code::kUsage);
  }
  lua::take_engine_file(loop::kEngineFd);
  std::optional<worker::WorkerProcess> started;
  try {
    started.emplace(rank, parent_pid);
  } catch (const Error& e) {
    std::fprintf(stderr, "rtrain: rank %d cannot start: %s\n", rank, e.message().c_str());
    return exit_code(e.code());
  }
  worker::WorkerProcess& worker = *started;
  std::optional<lua::State> state;
  try {
    state.emplace();
    worker.progress().set_state(*state);
    bind::add_host_modules(*state);
    // Without closing the state: the controller then sees that the process has neither returned nor
    // failed.
    replace_os_exit(*state, /*may_close=*/false);
    worker.wait_for_start();
    const Value value = run_main(*state);
    worker.finish(value);
    fault_point("worker.exit");
  } catch (const Error& e) {
    worker.fail(e);
    leave(exit_code(e.code()));
  } catch (const std::exception& e) {
    worker.fail(lua::HostTranslate::from(e));
    leave(exit_code(Code::kInternal));
  }
  // Finalizers close process groups and the user's files; the other ranks have returned too.
  worker.progress().set_state(nullptr);
  state.reset();
  leave(0);
}

}  // namespace rtrain::cli
