// tests/scale/sim_agents.h: the agents of a job's other hosts, in one process and without workers
// of their own: each speaks to node 0 over a connection as Agent does, for ranks that are
// SimWorkers.
#pragma once

#include "host/node/job_spec.h"

namespace rtrain {

// Serves node 0 as all other nodes of the job until each of them was asked to leave. On a
// SimBoard's `kill` the ranks of the nodes up to that one die.
void run_sim_agents(const JobSpec& job, int last_killed_node);

}  // namespace rtrain
