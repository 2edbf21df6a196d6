#include "host/train/watch/runtime_watch.h"

#include <utility>

namespace rtrain::train {

RuntimeWatch::RuntimeWatch(loop::Loop& loop, loop::TaskThread& io, OnGone on_gone, Periods periods)
    : loop_(loop), io_(io), on_gone_(std::move(on_gone)), periods_(periods), timer_(loop, [this] {
        look();
      }) {
  timer_.start(periods_.look);
}

void RuntimeWatch::look() {
  untouched_ += periods_.look;
  const bool is_due = untouched_ >= periods_.touch;
  if (is_due) untouched_ = std::chrono::milliseconds(0);
  io_.post([this, is_due] {
    const bool is_gone = folder_.is_gone();
    if (is_due && !is_gone) folder_.touch_files();
    loop_.post([this, is_gone] { on_seen(is_gone); });
  });
}

void RuntimeWatch::on_seen(bool is_gone) {
  if (is_gone) return on_gone_(folder_.path());
  timer_.start(periods_.look);
}

}  // namespace rtrain::train
