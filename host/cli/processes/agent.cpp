// rtrain agent: starts and watches workers of this node, for the controller on node 0 of a job.
#include <cstdlib>
#include <memory>

#include "host/base/error.h"
#include "host/bind/modules.h"
#include "host/cli/parser/command.h"
#include "host/cli/processes/job.h"
#include "host/machine/processes/process_start.h"

namespace rtrain::cli {
namespace {

[[noreturn]] void serve(const std::string& launcher) {
  machine::outlive_readers();
  int code = 0;
  {
    lua::State state;
    bind::add_host_modules(state);
    const auto job = find_job(state, launcher);
    if (!job) {
      throw Error(
          Code::kUsage,
          "no launcher has allotted several nodes to this process: `rtrain env` shows which "
          "one was found; on one machine `rtrain run` is all there is to start");
    }
    if (job->join) {
      throw Error(
          Code::kUsage,
          "the launcher has started several processes on this node, each of which is a rank: "
          "start `rtrain run`; the first of them is also the node's agent");
    }
    code = run_agent(*job);
  }
  std::exit(code);
}

}  // namespace

void add_agent(Parser& parser) {
  auto launcher = std::make_shared<std::string>();
  Command command = parser.command("agent", "Serve the run of a job's node 0 with this node");
  command.hide();
  command
      .option(
          "--launcher", launcher.get(),
          "who started this process: slurm, openmpi, …, or a site's FILE.lua (RTRAIN_LAUNCHER); "
          "else its variables tell")
      .value_name("NAME|FILE");
  command.action([launcher] { serve(*launcher); });
}

}  // namespace rtrain::cli
