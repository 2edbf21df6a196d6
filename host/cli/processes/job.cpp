#include "host/cli/processes/job.h"

#include <stdlib.h>

#include <csignal>
#include <memory>

#include "host/loop/signal.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/libraries/engine_loader.h"
#include "host/lua/require.h"
#include "host/machine/leases/job_end.h"
#include "host/node/agent_thread.h"
#include "host/node/node_server.h"
#include "host/node/workers/allotted_places.h"

namespace rtrain::cli {
namespace {

// A launcher ends all processes of a job when the first one has ended (srun -K), but then their
// exit codes are already determined. Unlike SIG_IGN, a handler is not inherited by programs that
// are started.
void ignore_stop_signals() {
  for (const int number : loop::kStopSignals) std::signal(number, [](int) {});
}

}  // namespace

std::optional<node::JobSpec> find_job(lua::State& state, const std::string& launcher) {
  lua::push_module_function(state, "rtrain.launch", "job");
  lua::push_value(state, launcher.empty() ? Value() : Value(launcher));
  lua::protected_call(state, 1, 2);
  Value job = lua::to_value(state, -2, "the job");
  const Value mark = lua::to_value(state, -1, "its mark");
  lua_pop(state, 2);
  // Processes started from here inherit the variables, but the launcher did not start them.
  if (!mark.is_nil()) setenv("RTRAIN_TASK", mark.as_string().c_str(), 1);
  if (job.is_nil()) return std::nullopt;
  return from_value<node::JobSpec>(std::move(job));
}

int run_agent(const node::JobSpec& job) {
  // The agent takes over these signals, and leaves them ignored at its end.
  ignore_stop_signals();
  return node::Agent(job, node::own_gpus(), lua::engine_fd()).run();
}

namespace {

// This process's part in the job; it ends with the process.
struct Part {
  std::string socket;                        // for this node's ranks; empty if rtrain starts them
  std::unique_ptr<node::AgentThread> agent;  // null in task 0
};

Part& part() {
  static Part part;
  return part;
}

void end_part(int code, void*) {
  ignore_stop_signals();
  if (!part().socket.empty()) machine::write_job_end(part().socket, code);
  part().agent.reset();
  if (node::node_server() != nullptr) node::node_server()->leave(code);
  node::set_node_server(nullptr);
}

}  // namespace

void begin_job(const node::JobSpec& job) {
  if (job.local_task > 0) return;
  if (job.join) part().socket = job.join->socket;
  if (job.task == 0) {
    node::set_node_server(std::make_unique<node::NodeServer>(job));
  } else {
    part().agent = std::make_unique<node::AgentThread>(job);
  }
  // Runs at every kind of end: of main, by os.exit, or by exit() in a library.
  on_exit(&end_part, nullptr);
}

}  // namespace rtrain::cli
