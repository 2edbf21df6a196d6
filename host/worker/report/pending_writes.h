// host/worker/report/pending_writes.h: files that threads of this worker are writing, for whoever
// takes a folder as a checkpoint.
//
// Any thread. Paths are absolute.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "host/base/error.h"

namespace rtrain::worker {

class PendingWrites {
 public:
  // A file's writing begins, and ends: a failure is kept for whoever waits for its folder.
  void begin(const std::string& path);
  void end(const std::string& path, const std::optional<Error>& error);

  // Waits until no file below the folder is being written. Throws the first failure among them,
  // once, or kTimeout naming the file.
  void wait_for(const std::string& folder, std::chrono::milliseconds timeout);

 private:
  struct Write {
    int under_way = 0;
    std::optional<Error> error;
  };
  // The file below the folder that is still being written; null when there is none.
  const std::string* unfinished(const std::string& folder) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Write> writes_;  // under way, or failed
};

}  // namespace rtrain::worker
