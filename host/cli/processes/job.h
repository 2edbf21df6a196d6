// host/cli/processes/job.h: this process's part in a job over several nodes.
#pragma once

#include <optional>
#include <string>

#include "host/lua/state.h"
#include "host/node/job_spec.h"

namespace rtrain::cli {

// Returns this process's part in the job of the launcher that started it, from
// modules/rtrain/launch/; nullopt for a single node. `launcher`: --launcher, or empty.
std::optional<node::JobSpec> find_job(lua::State& state, const std::string& launcher);

// Serves the job's controller until the job ends, and returns the job's exit code. Not for a rank.
int run_agent(const node::JobSpec& job);

// Begins this process's part in the job; afterwards it runs the script. In task 0 the agents of the
// other nodes can connect from now on; they end with this process, with its exit code. In a node's
// first rank the node's agent starts, which also serves the node's other ranks until this process
// ends.
void begin_job(const node::JobSpec& job);

}  // namespace rtrain::cli
