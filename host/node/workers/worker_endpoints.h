// host/node/workers/worker_endpoints.h: hands their sockets to workers that are there already,
// started by the user or by a launcher: the node starts no processes.
#pragma once

namespace rtrain {

class WorkerEndpoints {
 public:
  virtual ~WorkerEndpoints() = default;
  // The socket of that worker, counted on the node alone. Owns the descriptor.
  virtual void offer(int local_rank, int fd) = 0;
  // Closes endpoints that were not taken.
  virtual void withdraw() = 0;
};

}  // namespace rtrain
