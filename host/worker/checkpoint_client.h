// host/worker/checkpoint_client.h: a worker's requests and messages about checkpoints, other than
// its own reports.
//
// Thread: main; on_part() is called on the control thread.
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

  // Returns the kept checkpoints of the reports that this rank has made, the same on every rank.
  // Waits until all of them are committed and, when `validated`, until their validations have
  // ended. After timeout_s it returns the checkpoints so far. Without timeout_s it throws kTimeout
  // after the run's timeout_s.
  List reported(bool validated, std::optional<double> timeout_s);
  // Notifies the controller that the files of a checkpoint are not those of its commit.
  void set_damaged(const std::string& path, const std::string& problem);

  // A part of an answer, which comes before the reply to the same call.
  void on_part(const message::Part& part);

 private:
  WorkerProcess& worker_;
  std::pair<int64_t, bool> question_{-1, false};  // the last question: reports, validated
  int64_t repeat_ = 0;
  std::mutex mutex_;
  std::map<int64_t, std::string> parts_;  // encoded parts of incomplete answers, by call
};

}  // namespace rtrain::worker
