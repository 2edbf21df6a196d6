// host/worker/collective_client.h: a worker's side of train.collective.
//
// Main thread: the ranks synchronize in the order in which their train functions call.
#pragma once

#include <cstdint>
#include <string>

namespace rtrain::worker {

class WorkerProcess;

// The content of a broadcast: a message of the control channel, not a tensor.
inline constexpr size_t kMaxBroadcastBytes = size_t{256} << 10;

class CollectiveClient {
 public:
  explicit CollectiveClient(WorkerProcess& worker) : worker_(worker) {}

  // Waits until every rank has called the same collective; returns rank 0's data. Throws kArgument
  // for data that are too large, kTimeout naming who is missing, kUser for ranks in different
  // collectives.
  std::string synchronize(const std::string& collective, const std::string& caller,
                          const std::string& data);

  // Calls so far.
  int64_t count() const { return sequence_; }

 private:
  WorkerProcess& worker_;
  int64_t sequence_ = 0;
};

}  // namespace rtrain::worker
