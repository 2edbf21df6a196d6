// host/node/job_spec.h: the allotment of a launcher (Slurm, mpirun, …) to the job of this
// process: several nodes, and on each one process or one for each rank. modules/rtrain/launch/
// reads it from the launcher's variables; job_spec.lua there has the same fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/codec/record.h"

namespace rtrain::node {

// The ranks of this node, if the launcher has started their processes (host/node/join_server.h).
struct JoinSpec {
  static constexpr std::string_view kClass = "JoinSpec";
  std::string socket;    // where they come to, in the runtime folder
  int num_ranks = 1;     // of this node
  int first_joined = 0;  // those below are of the process that serves the socket; not of Lua

  static constexpr RecordFields kFields{required("socket", &JoinSpec::socket),
                                        required("num_ranks", &JoinSpec::num_ranks)};
};

struct JobSpec {
  static constexpr std::string_view kClass = "JobSpec";
  int num_tasks = 1;                    // processes of the launcher: one per node, or one per rank
  int task = 0;                         // number of this process; 0 is the controller's
  int local_task = 0;                   // number among those of this node; 0 is its agent
  std::optional<JoinSpec> join = {};    // each process is a rank
  std::string id = {};                  // of this start of the job, the same on all nodes
  std::vector<std::string> hosts = {};  // names in the launcher's order; they need not resolve
  std::string master = {};  // where the launcher says that task 0 is; empty: it does not
  int port = 0;             // where task 0 listens; 0: any that is free
  std::optional<int> cores =
      {};  // of this node that the job has; else all that this process may use
  // A node that has not been heard of for that long is lost. Not of Lua: node 0 says it.
  double node_timeout_s = 30;

  static constexpr RecordFields kFields{required("num_tasks", &JobSpec::num_tasks),
                                        required("task", &JobSpec::task),
                                        required("local_task", &JobSpec::local_task),
                                        optional("join", &JobSpec::join),
                                        required("id", &JobSpec::id),
                                        required("hosts", &JobSpec::hosts),
                                        required("master", &JobSpec::master),
                                        required("port", &JobSpec::port),
                                        optional("cores", &JobSpec::cores)};

  int tasks_on_node() const { return join ? join->num_ranks : 1; }
};

}  // namespace rtrain::node
