// host/track/follower.h: passes on to a tracker what a run records, while it goes on. On a thread
// of its own, which reads the store as `rtrain show` does: neither the run nor a step waits for it.
//
// While the tracker cannot be reached the thread tries again, after up to 30 s. What waits lies in
// the store. Thread: that of the owner.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "host/base/value.h"

namespace rtrain::track {

class Follower {
 public:
  // `options`: of the tracker.
  Follower(std::string storage, std::string run, Value options);
  // Ends after the call that is being made.
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // What went wrong first since the last call; nullopt if nothing did.
  std::optional<std::string> problem();
  // The run has ended: sends what is left. Returns whether all was sent within that time.
  bool finish(std::chrono::milliseconds timeout);

 private:
  void follow();
  bool pause(std::chrono::milliseconds time);
  void note(const std::string& problem);

  const std::string storage_, run_;
  const Value options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> problem_;
  bool is_finishing_ = false, is_done_ = false, is_leaving_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace rtrain::track
