// host/train/run.h: one run as the thread that called fit() sees it: started, read event by event,
// closed.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "host/base/error.h"
#include "host/base/value.h"
#include "host/decide/stop_agreement.h"
#include "host/train/run/run_spec.h"

namespace rtrain {

class Run {
 public:
  // Takes the run's name. Raises kConfig when the name is taken, kEnvironment when the storage
  // cannot be written.
  explicit Run(RunSpec spec);
  // Stops a run that still continues, kills its workers and waits for that.
  ~Run();

  const std::string& run_id() const;
  // Begins: from here on there are events. Once.
  void start();

  // The next event; nothing when none comes within the time. The last one is `finished`.
  std::optional<Value> next_event(double timeout_s);
  // Answers the event `call` of that id: with a value, or with what the script raised. Nothing
  // happens when no caller waits for it any more.
  void answer(int64_t id, Value value);
  void answer_error(int64_t id, const Error& error);
  // Asks the run to end in order. `by`: who or what asks, for people.
  void request_stop(StopKind kind, const std::string& by = {});
  // Writes a line into the run's record; also when it has not begun or has ended.
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

}  // namespace rtrain
