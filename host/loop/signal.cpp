#include "host/loop/signal.h"

namespace rtrain {

Signal::Signal(Loop& loop, int number, std::function<void()> on_signal)
    : handle_(loop, [on_signal = std::move(on_signal)](int) { on_signal(); }) {
  uv_signal_init(loop.get(), handle_.get());
  uv_signal_start(handle_.get(), &Handle<uv_signal_t, int>::call, number);
}

}  // namespace rtrain
