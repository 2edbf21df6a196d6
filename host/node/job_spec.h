// host/node/job_spec.h: the allotment of a launcher (Slurm, mpirun, …) to the job of this
// process: several hosts, and on each one process or one for each rank. modules/rtrain/launch/
// reads it from the launcher's variables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"

namespace rtrain {

// The ranks of this host, whose processes the launcher has started (host/node/join_server.h).
struct JoinSpec {
  std::string socket;  // where they come to, in the runtime folder
  int num_ranks = 1;   // of this host
  int first_joined =
      0;  // those below are not taken: they are of the process that serves the socket
};

struct JobSpec {
  int num_tasks = 1;   // processes of the launcher: one on each host, or one for each rank
  int task = 0;        // number of this one; 0 is the controller's
  int local_task = 0;  // among those of this host; 0 is its agent
  std::optional<JoinSpec> join;    // each process is a rank
  std::string id;                  // of this start of the job, the same on all hosts
  std::vector<std::string> hosts;  // names in the launcher's order; they need not resolve
  std::string master;              // where the launcher says that task 0 is; empty: it does not
  int port = 0;                    // where task 0 listens; 0: any that is free
  std::optional<int> cores;    // of this host that the job has; else all that this process may use
  double node_timeout_s = 30;  // a host that has not been heard of for that long is lost

  int tasks_on_node() const { return join ? join->num_ranks : 1; }

  // Of the fields of an Allocation (modules/rtrain/launch/allocation.lua). Nothing where one host
  // is all there is.
  static std::optional<JobSpec> from_value(const Value& allocation);
};

}  // namespace rtrain
