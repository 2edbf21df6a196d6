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

namespace rtrain {
namespace {

// A launcher ends all processes of a job when the first one has ended (srun -K): the code with
// which the others are about to end is settled by then. Unlike SIG_IGN it is not inherited by a
// program that is started.
void ignore_stop_signals() {
  for (const int number : kStopSignals) std::signal(number, [](int) {});
}

}  // namespace

std::optional<JobSpec> find_job(State& state, const std::string& launcher) {
  push_module_function(state, "rtrain.launch", "job");
  push_value(state, launcher.empty() ? Value() : Value(launcher));
  protected_call(state, 1, 2);
  Value job = to_value(state, -2, "the job");
  const Value mark = to_value(state, -1, "its mark");
  lua_pop(state, 2);
  // What is started from here has the variables too, and is not what the launcher has started.
  if (!mark.is_nil()) setenv("RTRAIN_TASK", mark.as_string().c_str(), 1);
  if (job.is_nil()) return std::nullopt;
  return from_value<JobSpec>(std::move(job));
}

int run_agent(const JobSpec& job) {
  // The agent takes them over, and leaves them ignored.
  ignore_stop_signals();
  return Agent(job, own_gpus(), engine_fd()).run();
}

namespace {

// What this process has its part in; it ends with the process.
struct Part {
  std::string socket;                  // of the ranks of this host; empty: they are started by us
  std::unique_ptr<AgentThread> agent;  // else this is task 0
};

Part& part() {
  static Part part;
  return part;
}

void end_part(int code, void*) {
  ignore_stop_signals();
  if (!part().socket.empty()) write_job_end(part().socket, code);
  part().agent.reset();
  if (node_server() != nullptr) node_server()->leave(code);
  set_node_server(nullptr);
}

}  // namespace

void begin_job(const JobSpec& job) {
  if (job.local_task > 0) return;
  if (job.join) part().socket = job.join->socket;
  if (job.task == 0) {
    set_node_server(std::make_unique<NodeServer>(job));
  } else {
    part().agent = std::make_unique<AgentThread>(job);
  }
  // However it ends: at the end of main, by os.exit, or by exit() in a library.
  on_exit(&end_part, nullptr);
}

}  // namespace rtrain
