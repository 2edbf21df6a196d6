// host/worker/stop_gate.h: a rank's side of the agreement on where to stop
// (host/decide/stop_agreement.h).
//
// call() belongs to the main thread, the rest to the control thread, which never waits here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace rtrain::worker {

class StopGate {
 public:
  // train.stop_requested(): counts the call, waits while an agreement is being made, and says
  // whether this call or an earlier one is the agreed one. Nothing when the agreement has not come
  // within the time. Throws kPeerLost once closed.
  std::optional<bool> call(std::chrono::milliseconds timeout);

  // Holds the next call; returns how many were made.
  int64_t hold();
  // Lets it go; `at`: the first call that returns true.
  void release(std::optional<int64_t> at);
  // A call that returns true has been agreed on, whether it was made or not. Counts nothing.
  bool is_agreed();
  void close();
  bool is_closed();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t calls_ = 0;  // that have passed the gate
  bool held_ = false;
  bool closed_ = false;
  std::optional<int64_t> at_;
};

}  // namespace rtrain::worker
