// host/node/health/timed_check.h: runs a call that may hang on its own thread, with a
// time-out.
//
// Belongs to the loop's thread, which never waits for the call: a failing device or disk can
// block its caller forever. Then the thread is abandoned.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "host/loop/loop.h"
#include "host/loop/timer.h"

namespace rtrain::node {

struct CheckOutcome {
  std::string problem = {};  // empty: none
  double seconds = 0;
  bool is_over = true;  // false: the call timed out
};

class TimedCheck {
 public:
  // Returns the problem, or "". Must not use objects that may be destroyed while the thread is
  // abandoned.
  using Work = std::function<std::string()>;
  using Done = std::function<void(const CheckOutcome& outcome)>;

  // Calls `done` once, never from inside the constructor and never after this object's end. `done`
  // may destroy this object.
  TimedCheck(loop::Loop& loop, Work work, std::chrono::milliseconds timeout, Done done);
  ~TimedCheck();
  TimedCheck(const TimedCheck&) = delete;
  TimedCheck& operator=(const TimedCheck&) = delete;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared, const Work& work);
  static void finish(std::shared_ptr<Shared> shared, CheckOutcome outcome);

  std::shared_ptr<Shared> shared_;
  loop::Timer deadline_;
};

}  // namespace rtrain::node
