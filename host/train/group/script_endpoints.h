// host/train/group/script_endpoints.h: local mode: the workers' ends of their channels on this
// host. Rank 0 is a thread of the script's process; the others are processes that a launcher has
// started next to it.
//
// Belongs to the control thread.
#pragma once

#include <optional>

#include "host/node/join_server.h"
#include "host/node/workers/worker_endpoints.h"
#include "host/train/record/run_events.h"
#include "host/train/run/run_spec.h"

namespace rtrain {

class ScriptEndpoints : public WorkerEndpoints {
 public:
  // Throws kEnvironment.
  ScriptEndpoints(Loop& loop, RunEvents& events, const RunSpec& spec);

  void offer(int local_rank, int fd) override;
  void withdraw() override;
  // The run is over.
  void end(const message::Ended& ended);

 private:
  RunEvents& events_;
  std::optional<JoinServer> joins_;
};

// Of the event `finished`; the rest the ranks' processes read from the store.
message::Ended ended_message(const Map& finished);

}  // namespace rtrain
