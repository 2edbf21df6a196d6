// host/train/group/script_endpoints.h: local mode: the workers' ends of their channels on this
// node. Rank 0 is a thread of the script's process; a launcher has started the other ranks'
// processes.
//
// Belongs to the control thread.
#pragma once

#include <optional>

#include "host/node/join_server.h"
#include "host/node/workers/worker_endpoints.h"
#include "host/train/record/run_events.h"
#include "host/train/run/run_spec.h"

namespace rtrain::train {

class ScriptEndpoints : public node::WorkerEndpoints {
 public:
  // Throws kEnvironment.
  ScriptEndpoints(loop::Loop& loop, RunEvents& events, const RunSpec& spec);

  void offer(int local_rank, int fd) override;
  void withdraw() override;
  // The run has ended.
  void end(const message::Ended& ended);

 private:
  RunEvents& events_;
  std::optional<node::JoinServer> joins_;
};

// Made from the event `finished`; the ranks' processes read the rest from the store.
message::Ended ended_message(const Map& finished);

}  // namespace rtrain::train
