// host/train/run/script_calls.h: questions that only the user's Lua can answer, asked of the thread
// that called fit().
//
// A question is an event {type = "call", id, name, argument}; that thread answers it by its id
// between two other events. Any thread may ask and answer. Every question has a deadline, since the
// user's code may take its time: an answer that comes later is dropped.
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

namespace rtrain {

struct ScriptQuestion {
  std::string name;
  Value argument;
  std::chrono::milliseconds timeout;
  std::string setting;  // what the user sets to wait longer; named by the time-out
};

class ScriptCalls {
 public:
  // Exactly one of the two is there.
  using Done = std::function<void(std::optional<Value> value, std::optional<Error> error)>;

  explicit ScriptCalls(EventQueue& events) : events_(events) {}

  // Waits for the answer. Not for the control thread, which may not wait, and not for the one that
  // answers. Throws what the script raised; kTimeout; kInterrupted once closed.
  Value ask(const ScriptQuestion& question);
  // Calls `done` on the loop's thread, which is the caller's too: with the answer, with what the
  // script raised, with kTimeout, or with kInterrupted. Never from inside this call.
  void ask(Loop& loop, const ScriptQuestion& question, Done done);

  // The answer; nothing happens when no call waits for it any more.
  void answer(int64_t id, Value value);
  void answer_error(int64_t id, const Error& error);
  // No answer will come from now on: waits end.
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

}  // namespace rtrain
