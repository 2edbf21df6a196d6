// host/worker/report/replies.h: lets threads wait for answers of the controller, by key.
//
// Thread: any. A wait holds no lock. It ends with its answer, at its deadline, or when the channel
// closes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "host/base/error.h"
#include "host/base/value.h"
#include "host/worker/report/idle.h"

namespace rtrain::worker {

// The controller's deadlines are shorter, and its errors name the late ranks. A worker waits longer
// by this time, for the case that the controller cannot answer.
inline constexpr std::chrono::seconds kAnswerGrace{30};

class Replies {
 public:
  explicit Replies(const Idle& idle) : idle_(idle) {}

  // Announces a wait. Call it before the request is sent.
  void expect(const std::string& key);
  // Announces a wait that interrupt() does not end.
  void expect_lasting(const std::string& key);
  // Returns the answer; nullopt at the deadline, which begins again each time that `moves` returns
  // true. Throws the error that is the answer, and kPeerLost after close().
  std::optional<Value> wait(
      const std::string& key, std::chrono::milliseconds timeout,
      const std::function<bool()>& moves = [] { return false; });
  // Gives the answer to the call that waits for the key, if there is one.
  void set(const std::string& key, Value value, std::optional<Error> error = {});
  void close();
  // Ends every wait, and each one that begins before resume(), with this error.
  void interrupt(const Error& error);
  void resume();

 private:
  struct Answer {
    Value value;
    std::optional<Error> error;
  };

  const Idle& idle_;
  std::mutex mutex_;
  std::condition_variable changed_;
  struct Wait {
    std::optional<Answer> answer;
    bool lasts = false;
  };
  std::map<std::string, Wait> waits_;
  bool closed_ = false;
  std::optional<Error> interruption_;
};

}  // namespace rtrain::worker
