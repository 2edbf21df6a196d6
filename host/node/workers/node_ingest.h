// host/node/workers/node_ingest.h: this node's ingest workers for ranks on other nodes.
//
// Each connects to its rank and ends when the rank closes the connection. Belongs to the loop's
// thread.
#pragma once

#include <memory>
#include <vector>

#include "host/loop/messages/ingest.h"
#include "host/loop/processes/helper_process.h"

namespace rtrain::node {

class NodeIngest {
 public:
  // If it cannot be started, prints the reason to stderr; the rank waits in vain and asks again.
  void start(const message::StartIngest& wanted, int engine_fd);
  // Forgets workers that have ended. Called at intervals.
  void look();
  // Kills all of them.
  void kill() { workers_.clear(); }

 private:
  struct Worker {
    int rank = 0;
    int number = 0;
    std::unique_ptr<loop::HelperProcess> process;
  };
  std::vector<Worker> workers_;
};

}  // namespace rtrain::node
