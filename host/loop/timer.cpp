#include "host/loop/timer.h"

namespace rtrain::loop {

Timer::Timer(Loop& loop, std::function<void()> on_due)
    : handle_(loop, [this, on_due = std::move(on_due)] {
        active_ = false;
        on_due();
      }) {
  uv_timer_init(loop.get(), handle_.get());
}

void Timer::start(std::chrono::milliseconds delay) {
  active_ = true;
  // libuv counts from the beginning of the loop's round, which may be long ago.
  uv_update_time(handle_.get()->loop);
  uv_timer_start(handle_.get(), &Handle<uv_timer_t>::call, static_cast<uint64_t>(delay.count()), 0);
}

void Timer::stop() {
  active_ = false;
  uv_timer_stop(handle_.get());
}

}  // namespace rtrain::loop
