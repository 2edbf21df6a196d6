// tests/soak/scale/sim_agents.h: the agents of a job's other nodes, all in one process and without
// worker processes: each speaks to node 0 over a connection as Agent does, on behalf of SimWorkers.
#pragma once

#include "host/node/job_spec.h"

namespace rtrain {

// Acts as all other nodes of the job until each of them was asked to leave. When SimBoard's `kill`
// is set, the ranks on all nodes up to `last_killed_node` die.
void run_sim_agents(const node::JobSpec& job, int last_killed_node);

}  // namespace rtrain
