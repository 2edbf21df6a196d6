// host/loop/signal.h: a POSIX signal as a callback on the loop. The default action comes back when
// the object goes.
#pragma once

#include "host/loop/handle.h"

namespace rtrain {

class Signal {
 public:
  Signal(Loop& loop, int number, std::function<void()> on_signal);

 private:
  Handle<uv_signal_t, int> handle_;
};

}  // namespace rtrain
