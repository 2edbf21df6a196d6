// host/worker/report/replies.h: where threads wait for answers of the controller, by key.
//
// Any thread. A wait holds no lock and ends with its answer, at its deadline, or when the channel
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

// The controller has its own, shorter deadlines and names who is late. A worker waits that much
// longer, for the case that the controller cannot answer.
inline constexpr std::chrono::seconds kAnswerGrace{30};

class Replies {
 public:
  explicit Replies(const Idle& idle) : idle_(idle) {}

  // Announces a wait; before the request is sent.
  void expect(const std::string& key);
  // One that interrupt() leaves alone.
  void expect_lasting(const std::string& key);
  // The answer; nothing when the deadline has passed, which begins again as long as what is waited
  // for `moves`. Throws the error that was answered, kPeerLost once closed.
  std::optional<Value> wait(
      const std::string& key, std::chrono::milliseconds timeout,
      const std::function<bool()>& moves = [] { return false; });
  // Nothing happens when no call waits for the key.
  void set(const std::string& key, Value value, std::optional<Error> error = {});
  void close();
  // Ends every wait, and every further one, with that error, until resume().
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
