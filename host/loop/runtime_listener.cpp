#include "host/loop/runtime_listener.h"

#include <cerrno>
#include <chrono>
#include <utility>

namespace rtrain::loop {
namespace {

constexpr std::chrono::milliseconds kAgain{100};

}  // namespace

RuntimeListener::RuntimeListener(Loop& loop, const std::string& name, int type,
                                 OnConnection on_connection)
    : socket_(name, type),
      on_connection_(std::move(on_connection)),
      poll_(loop, socket_.take_fd(), [this](int) { accept(); }),
      again_(loop, [this] { poll_.start(UV_READABLE); }) {
  poll_.start(UV_READABLE);
}

void RuntimeListener::accept() {
  for (;;) {
    const int fd = machine::accept_runtime_socket(poll_.fd());
    if (fd < 0) break;
    on_connection_(fd);
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) return;
  // This process is out of descriptors or memory: the socket would be ready again at once.
  poll_.stop();
  again_.start(kAgain);
}

}  // namespace rtrain::loop
