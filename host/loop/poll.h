// host/loop/poll.h: tells when a file descriptor can be read or written. Owns the descriptor and
// makes it non-blocking.
#pragma once

#include "host/loop/handle.h"

namespace rtrain::loop {

class Poll {
 public:
  // The callback gets UV_READABLE, UV_WRITABLE or both; errors of the descriptor come as readable.
  Poll(Loop& loop, int fd, std::function<void(int events)> on_ready);
  ~Poll() { close(); }

  void start(int events);
  // Tells nothing until the next start.
  void stop();
  // Closes the descriptor too. Calling it again does nothing.
  void close();
  // Watches no longer and gives the descriptor back; once.
  int release();
  int fd() const { return fd_; }

 private:
  int fd_;
  int events_ = 0;  // that are watched
  Handle<uv_poll_t, int, int> handle_;
};

}  // namespace rtrain::loop
