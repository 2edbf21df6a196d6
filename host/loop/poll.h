// host/loop/poll.h: calls a function when a descriptor is readable or writable. Owns the descriptor
// and makes it non-blocking.
#pragma once

#include "host/loop/handle.h"

namespace rtrain::loop {

class Poll {
 public:
  // The callback gets UV_READABLE, UV_WRITABLE or both. Errors of the descriptor count as readable;
  // it is called again until it has read the error, or has stopped or closed this.
  Poll(Loop& loop, int fd, std::function<void(int events)> on_ready);
  ~Poll() { close(); }

  void start(int events);
  // The callback is not called until the next start().
  void stop();
  // Closes the descriptor too. Calling it again does nothing.
  void close();
  // Stops watching and gives the descriptor to the caller. Call it once.
  int release();
  int fd() const { return fd_; }

 private:
  int fd_;
  int events_ = 0;  // the events that are watched
  Handle<uv_poll_t, int, int> handle_;
};

}  // namespace rtrain::loop
