// host/node/worker_endpoints.h: who takes the workers' ends of their channels on a node that starts
// no processes: the workers are there already, started by the user or by a launcher.
#pragma once

namespace rtrain {

class WorkerEndpoints {
 public:
  virtual ~WorkerEndpoints() = default;
  // The end of the channel of that worker, counted on the node alone. Owns the descriptor.
  virtual void offer(int local_rank, int fd) = 0;
  // Closes what nobody has taken.
  virtual void withdraw() = 0;
};

}  // namespace rtrain
