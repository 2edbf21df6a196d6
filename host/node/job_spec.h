// host/node/job_spec.h: what a launcher (Slurm, mpirun, …) has allotted to the job of this process:
// several nodes, and on each one process or one for each rank. modules/rtrain/launch/ reads it from
// the launcher's variables; job_spec.lua there has the same fields.
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
  std::string socket;    // in the runtime folder; they connect to it
  int num_ranks = 1;     // number of ranks on this node
  int first_joined = 0;  // lower ones belong to the process that serves the socket; not from Lua

  static constexpr RecordFields kFields{required("socket", &JoinSpec::socket),
                                        required("num_ranks", &JoinSpec::num_ranks)};
};

struct JobSpec {
  static constexpr std::string_view kClass = "JobSpec";
  int num_tasks = 1;                    // processes of the launcher: one per node, or one per rank
  int task = 0;                         // this process's number; 0 is the controller's
  int local_task = 0;                   // its number among those of this node; 0 is the agent's
  std::optional<JoinSpec> join = {};    // each process is a rank
  std::string id = {};                  // identifies this start of the job; the same on all nodes
  std::vector<std::string> hosts = {};  // names in the launcher's order; they need not resolve
  std::string master = {};              // task 0's node, if the launcher names it; else empty
  int port = 0;                         // task 0 listens here; 0: any free port
  std::optional<int> cores =
      {};  // the job's cores on this node; else all that this process may use
  std::optional<int> most_workers = {};  // on this node; else as many as its cores or devices allow
  // The launcher's nodes may have disks of their own: one that does not see node 0's folder of
  // results works without it (host/store/checkpoints/far_store.h).
  bool has_own_disks = false;
  // A node that has sent nothing for that long is lost. Not from Lua: node 0 sends it.
  double node_timeout_s = 30;

  static constexpr RecordFields kFields{required("num_tasks", &JobSpec::num_tasks),
                                        required("task", &JobSpec::task),
                                        required("local_task", &JobSpec::local_task),
                                        optional("join", &JobSpec::join),
                                        required("id", &JobSpec::id),
                                        required("hosts", &JobSpec::hosts),
                                        required("master", &JobSpec::master),
                                        required("port", &JobSpec::port),
                                        optional("cores", &JobSpec::cores),
                                        optional("most_workers", &JobSpec::most_workers),
                                        required("has_own_disks", &JobSpec::has_own_disks)};

  int tasks_on_node() const { return join ? join->num_ranks : 1; }
};

}  // namespace rtrain::node
