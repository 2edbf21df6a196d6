// host/engine/data/socket_deadline.h: waits for a socket until a point in time.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "host/base/clock.h"

namespace rtrain::engine {

class SocketDeadline {
 public:
  explicit SocketDeadline(std::chrono::milliseconds timeout)
      : end_s_(monotonic_s() + std::chrono::duration<double>(timeout).count()) {}

  // Returns false after the deadline.
  bool wait(int fd, short events) const {
    while (true) {
      pollfd ready{fd, events, 0};
      const double left_s = std::clamp(end_s_ - monotonic_s(), 0.0, 3600.0);
      const int n = poll(&ready, 1, static_cast<int>(to_ms(left_s).count()));
      if (n > 0) return true;
      if (n == 0 && is_over()) return false;
    }
  }
  bool is_over() const { return monotonic_s() >= end_s_; }

 private:
  double end_s_;
};

}  // namespace rtrain::engine
