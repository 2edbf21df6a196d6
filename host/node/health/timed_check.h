// host/node/health/timed_check.h: a call that may hang, on a thread of its own, and how it has
// ended.
//
// Belongs to the loop's thread, which never waits for the call: a device or a disk that is going
// down can hold its caller up for ever. The thread is left to itself then.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "host/loop/loop.h"
#include "host/loop/timer.h"

namespace rtrain {

struct CheckOutcome {
  std::string problem = {};  // empty: none
  double seconds = 0;
  bool is_over = true;  // false: the call has not come back within its time
};

class TimedCheck {
 public:
  // Gives the problem, or "". Uses nothing that may be gone when the thread is left alone.
  using Work = std::function<std::string()>;
  using Done = std::function<void(const CheckOutcome& outcome)>;

  // Calls `done` once, never from inside the constructor, and not after the end of this object,
  // which `done` may bring about.
  TimedCheck(Loop& loop, Work work, std::chrono::milliseconds timeout, Done done);
  ~TimedCheck();
  TimedCheck(const TimedCheck&) = delete;
  TimedCheck& operator=(const TimedCheck&) = delete;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared, const Work& work);
  static void finish(std::shared_ptr<Shared> shared, CheckOutcome outcome);

  std::shared_ptr<Shared> shared_;
  Timer deadline_;
};

}  // namespace rtrain
