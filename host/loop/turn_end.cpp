#include "host/loop/turn_end.h"

namespace rtrain::loop {

TurnEnd::TurnEnd(Loop& loop, std::function<void()> on_end)
    : handle_(loop,
              [this, on_end = std::move(on_end)] {
                uv_prepare_stop(handle_.get());
                uv_idle_stop(busy_.get());
                on_end();
              }),
      busy_(loop, [] {}) {
  uv_prepare_init(loop.get(), handle_.get());
  uv_idle_init(loop.get(), busy_.get());
}

void TurnEnd::ask() {
  uv_prepare_start(handle_.get(), &Handle<uv_prepare_t>::call);
  uv_idle_start(busy_.get(), &Handle<uv_idle_t>::call);
}

}  // namespace rtrain::loop
