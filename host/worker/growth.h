// host/worker/growth.h: the folder into which this rank writes its part of the last commit, so that
// a larger group can continue from it (train.elastic).
//
// The control thread sets it, the main thread reads it.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace rtrain::worker {

class Growth {
 public:
  // Nullopt: the group goes on as it is. Empty: it goes on from its last commit in the same
  // processes, and nothing is written.
  std::optional<std::string> folder() {
    const std::lock_guard lock(mutex_);
    return folder_;
  }
  void set_folder(std::optional<std::string> folder) {
    const std::lock_guard lock(mutex_);
    folder_ = std::move(folder);
  }

 private:
  std::mutex mutex_;
  std::optional<std::string> folder_;
};

}  // namespace rtrain::worker
