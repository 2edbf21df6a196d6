#include "host/loop/signal.h"

namespace rtrain::loop {

Signal::Signal(Loop& loop, int number, std::function<void()> on_signal)
    : number_(number), handle_(loop, [on_signal = std::move(on_signal)](int) { on_signal(); }) {
  sigaction(number, nullptr, &before_);
  uv_signal_init(loop.get(), handle_.get());
  uv_signal_start(handle_.get(), &Handle<uv_signal_t, int>::call, number);
}

// libuv itself would set the default action, which ends the process at that signal.
Signal::~Signal() {
  handle_.close();
  sigaction(number_, &before_, nullptr);
}

}  // namespace rtrain::loop
