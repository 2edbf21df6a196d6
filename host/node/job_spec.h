// host/node/job_spec.h: what an engine (Slurm, mpirun, …) allotted to the job of this process:
// several hosts, one process on each. modules/rtrain/launch/ reads it from the engine's variables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"

namespace rtrain {

struct JobSpec {
  int num_nodes = 1;
  int node_rank = 0;               // of this process; 0 is the controller's
  std::string id;                  // of this start of the job, the same on all hosts
  std::vector<std::string> hosts;  // names in the engine's order; they need not resolve
  std::string master;              // where the engine says that node 0 is; empty: it does not
  int port = 0;                    // where node 0 listens; 0: any that is free
  std::optional<int> cores;    // of this host that the job has; else all that this process may use
  double node_timeout_s = 30;  // a host that has not been heard of for that long is lost

  // Of the fields of an Allocation (modules/rtrain/launch/allocation.lua). Nothing where one host
  // is all there is, and where the engine starts each rank itself.
  static std::optional<JobSpec> from_value(const Value& allocation);
};

}  // namespace rtrain
