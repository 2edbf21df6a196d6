// host/worker/checkpoint_client.h: what a worker asks and tells about checkpoints other than its
// own reports.
//
// Main thread; on_part() is the control thread's.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "host/base/value.h"
#include "host/loop/messages/to_worker.h"

namespace rtrain::worker {

class WorkerProcess;

class CheckpointClient {
 public:
  explicit CheckpointClient(WorkerProcess& worker) : worker_(worker) {}

  // The kept checkpoints of the reports that this rank has made, the same on every rank: waits
  // until none of them is on its way and, when `validated`, until no validation of theirs is under
  // way. After timeout_s it gives what is there; without it, it throws kTimeout after the run's
  // timeout_s.
  List reported(bool validated, std::optional<double> timeout_s);
  // Tells the controller that the files of a checkpoint are not those of its commit.
  void set_damaged(const std::string& path, const std::string& problem);

  // Before the reply to the same call.
  void on_part(const message::Part& part);

 private:
  WorkerProcess& worker_;
  std::pair<int64_t, bool> question_{-1, false};  // what was last asked, and how often
  int64_t repeat_ = 0;
  std::mutex mutex_;
  std::map<int64_t, std::string> parts_;  // encoded, of answers that are under way, by call
};

}  // namespace rtrain::worker
