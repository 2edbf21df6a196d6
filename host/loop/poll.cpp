#include "host/loop/poll.h"

#include <unistd.h>

#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::loop {

Poll::Poll(Loop& loop, int fd, std::function<void(int events)> on_ready)
    : fd_(fd), handle_(loop, [this, on_ready = std::move(on_ready)](int status, int events) {
        // At an error of the descriptor libuv has stopped the poll. Bytes that came before it may
        // be read in several calls.
        if (status < 0) start(std::exchange(events_, 0));
        on_ready(status < 0 ? UV_READABLE : events);
      }) {
  if (const int status = uv_poll_init(loop.get(), handle_.get(), fd); status != 0) {
    throw Error(Code::kInternal,
                cat("cannot watch descriptor ", fd, ": ", std::string_view(uv_strerror(status))));
  }
}

void Poll::start(int events) {
  // If the events are the same, libuv would remove the descriptor from its set and add it again.
  if (fd_ < 0 || std::exchange(events_, events) == events) return;
  uv_poll_start(handle_.get(), events, &Handle<uv_poll_t, int, int>::call);
}

void Poll::stop() {
  if (fd_ >= 0 && std::exchange(events_, 0) != 0) uv_poll_stop(handle_.get());
}

void Poll::close() {
  if (fd_ >= 0) ::close(release());
}

int Poll::release() {
  handle_.close();
  return std::exchange(fd_, -1);
}

}  // namespace rtrain::loop
