// host/worker/stop_gate.h: a rank's side of the agreement on the call of train.stop_requested() at
// which to stop (host/decide/stop_agreement.h).
//
// Threads: main calls call(), the control thread the others, which never wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace rtrain::worker {

class StopGate {
 public:
  // train.stop_requested(): counts the call, waits while the ranks agree, and returns whether the
  // ranks have agreed on this call or an earlier one. Nullopt when the wait takes longer than the
  // timeout. Throws kPeerLost after close().
  std::optional<bool> call(std::chrono::milliseconds timeout);

  // Holds the next call; returns the number of calls so far.
  int64_t hold();
  // Lets the held call continue. `at`: the first call that returns true; nullopt: not agreed.
  void release(std::optional<int64_t> at);
  // Whether the ranks have agreed on a call. This does not count as a call.
  bool is_agreed();
  void close();
  bool is_closed();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t calls_ = 0;  // calls so far, without one that is held
  bool held_ = false;
  bool closed_ = false;
  std::optional<int64_t> at_;
};

}  // namespace rtrain::worker
