// host/node/workers/worker_endpoints.h: passes sockets to workers that the user or a launcher has
// started already: the node starts no processes.
#pragma once

namespace rtrain::node {

class WorkerEndpoints {
 public:
  virtual ~WorkerEndpoints() = default;
  // Passes a socket to the worker with that local rank. Takes ownership of the descriptor.
  virtual void offer(int local_rank, int fd) = 0;
  // Closes endpoints that were not taken.
  virtual void withdraw() = 0;
};

}  // namespace rtrain::node
