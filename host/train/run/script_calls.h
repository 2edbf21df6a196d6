// host/train/run/script_calls.h: calls of the user's Lua functions on the thread that called
// fit().
//
// A call is an event {type = "call", id, name, argument}; that thread answers it by its id between
// other events. Any thread may ask and answer. Every call has a deadline, because the user's code
// may be slow; later answers are dropped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "host/base/error.h"
#include "host/loop/loop.h"
#include "host/loop/timer.h"
#include "host/train/run/event_queue.h"

namespace rtrain::train {

struct ScriptQuestion {
  std::string name;
  Value argument;
  std::chrono::milliseconds timeout;
  std::string setting;  // the user's setting of the deadline, for the error message
};

class ScriptCalls {
 public:
  // Exactly one of the two is set.
  using Done = std::function<void(std::optional<Value> value, std::optional<Error> error)>;

  explicit ScriptCalls(EventQueue& events) : events_(events) {}

  // Waits for the answer. Must not be called on the control thread, which may not wait, or on the
  // thread that answers. Throws the script's error; kTimeout; kInterrupted after close().
  Value ask(const ScriptQuestion& question);
  // Calls `done` on the loop's thread, which must be the caller's: with the answer, the script's
  // error, kTimeout, or kInterrupted. Never from inside this call.
  void ask(loop::Loop& loop, const ScriptQuestion& question, Done done);

  // Answers a call. Does nothing if no caller waits for it any more.
  void answer(int64_t id, Value value);
  void answer_error(int64_t id, const Error& error);
  // No answers arrive from now on: ends all waits.
  void close();

 private:
  using Finish = std::function<void(std::optional<Value>, std::optional<Error>)>;
  int64_t add(const ScriptQuestion& question, Finish finish);
  void finish(int64_t id, std::optional<Value> value, std::optional<Error> error);

  EventQueue& events_;
  std::mutex mutex_;
  std::map<int64_t, Finish> waiting_;
  int64_t last_id_ = 0;
  bool closed_ = false;
};

}  // namespace rtrain::train
