// host/loop/timer.h: calls a function once after a delay, or repeatedly. Belongs to the loop's
// thread.
#pragma once

#include <chrono>

#include "host/loop/handle.h"

namespace rtrain::loop {

class Timer {
 public:
  Timer(Loop& loop, std::function<void()> on_due);

  // Arms the timer again, and forgets an earlier arming.
  void start(std::chrono::milliseconds delay);
  void stop();
  bool is_active() const { return active_; }

 private:
  bool active_ = false;
  Handle<uv_timer_t> handle_;
};

}  // namespace rtrain::loop
