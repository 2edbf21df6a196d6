// host/node/workers/worker_end.h: how a worker ended.
#pragma once

#include <cstdint>
#include <string>

#include "host/base/codec/record.h"
#include "host/loop/processes/process.h"
#include "host/node/workers/last_moments.h"

namespace rtrain::node {

struct WorkerEnd {
  int pid = 0;
  bool is_child = true;  // else `status` is not set
  loop::ExitStatus status = loop::ExitStatus();
  std::string broken = {};  // why we closed its channel ("a message of … bytes …"), else empty
  // The node's facts about its last moments.
  LastMoments last = LastMoments();
  int64_t oom_kills = 0;  // processes that the kernel has killed for lack of memory in this cgroup
                          // since the attempt began
  std::string lost = {};  // why its node is considered lost, else empty

  static constexpr RecordFields kFields{
      required("pid", &WorkerEnd::pid),       required("is_child", &WorkerEnd::is_child),
      required("status", &WorkerEnd::status), optional("broken", &WorkerEnd::broken),
      required("last", &WorkerEnd::last),     optional("oom_kills", &WorkerEnd::oom_kills),
      optional("lost", &WorkerEnd::lost),
  };
};

}  // namespace rtrain::node
