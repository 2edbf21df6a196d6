// host/worker/report/pending_writes.h: the files that threads of this worker are writing, so that a
// folder becomes a checkpoint only when its files are complete.
//
// Thread: any. Paths are absolute.
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
  // Writing of a file begins and ends. An error is kept until wait_for() throws it.
  void begin(const std::string& path);
  void end(const std::string& path, const std::optional<Error>& error);

  // Waits until no file below the folder is being written. Throws the first error of such a file,
  // once, or kTimeout, which names the file.
  void wait_for(const std::string& folder, std::chrono::milliseconds timeout);

 private:
  struct Write {
    int under_way = 0;
    std::optional<Error> error;
  };
  // A file below the folder that is still being written, or null.
  const std::string* unfinished(const std::string& folder) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Write> writes_;  // being written, or failed
};

}  // namespace rtrain::worker
