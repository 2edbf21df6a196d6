// host/train/run.h: one run, for the thread that called fit(): start, events, close.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "host/base/error.h"
#include "host/base/value.h"
#include "host/decide/stop_agreement.h"
#include "host/train/run/run_spec.h"

namespace rtrain::train {

class Run {
 public:
  // Takes the run's name. Throws kConfig if the name is taken, kEnvironment if the storage cannot
  // be written.
  explicit Run(RunSpec spec);
  // Stops a run that is still running, kills its workers and waits for them.
  ~Run();

  const std::string& run_id() const;
  // Begins the run: events follow. Call it once.
  void start();

  // The next event; nullopt if none arrives within the time. The last one is `finished`.
  std::optional<Value> next_event(double timeout_s);
  // Answers the event `call` with that id: with a value, or with the script's error. Does nothing
  // if no caller waits for it any more.
  void answer(int64_t id, Value value);
  void answer_error(int64_t id, const Error& error);
  // Requests a graceful shutdown. `by`: who asks, for users.
  void request_stop(decide::StopKind kind, const std::string& by = {});
  // Writes a line to the run's record, also before the run begins and after it has ended.
  void add_event(int64_t attempt, std::string level, std::string text);
  void close();

 private:
  struct Parts;
  Parts& parts() const;
  void supervise();
  [[noreturn]] void end_process(int code);

  std::unique_ptr<Parts> parts_;
  std::thread control_;
};

}  // namespace rtrain::train
