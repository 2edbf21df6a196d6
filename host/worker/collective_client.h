// host/worker/collective_client.h: a worker's side of train.collective.
//
// Thread: main. The ranks synchronize in the order of the calls in their train functions.
#pragma once

#include <cstdint>
#include <string>

namespace rtrain::worker {

class WorkerProcess;

// The limit of a broadcast's data, which is a message on the control channel, not a tensor.
inline constexpr size_t kMaxBroadcastBytes = size_t{256} << 10;

class CollectiveClient {
 public:
  explicit CollectiveClient(WorkerProcess& worker) : worker_(worker) {}

  // Waits until every rank has called the same collective; returns rank 0's data. Throws kArgument
  // for data that are too large, kTimeout with the missing ranks, and kUser when ranks are in
  // different collectives.
  std::string synchronize(const std::string& collective, const std::string& caller,
                          const std::string& data);

  // The number of calls so far.
  int64_t count() const { return sequence_; }

 private:
  WorkerProcess& worker_;
  int64_t sequence_ = 0;
};

}  // namespace rtrain::worker
