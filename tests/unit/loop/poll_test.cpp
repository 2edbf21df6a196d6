#include "host/loop/poll.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "host/base/files/fd.h"
#include "host/wire/listener.h"
#include "host/wire/socket_address.h"
#include "tests/unit/run_until.h"

namespace rtrain::loop {
namespace {

// Both ends of a connection over loopback.
struct Connected {
  Connected() {
    const Fd listener = wire::listen_at(*wire::SocketAddress::parse("127.0.0.1", 0), 0);
    const wire::SocketAddress address = wire::SocketAddress::near(listener.get());
    EXPECT_EQ(::connect(near.get(), address.get(), address.size()), 0);
    far = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  }

  Fd near{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  Fd far;
};

TEST(PollTest, BytesBeforeAResetAreReadInSeveralCallsAndThenTheError) {
  Loop loop;
  Connected ends;
  ASSERT_EQ(::send(ends.near.get(), "abc", 3, 0), 3);
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(ends.near.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  ends.near = Fd();

  std::string read;
  int error = 0;
  Poll poll(loop, ends.far.release(), [&](int events) {
    EXPECT_EQ(events, UV_READABLE);
    char byte = 0;
    const ssize_t n = ::recv(poll.fd(), &byte, 1, 0);
    if (n > 0) {
      read += byte;
    } else {
      error = n == 0 ? 0 : errno;
      poll.close();
    }
  });
  poll.start(UV_READABLE);
  run_until(loop, [&] { return poll.fd() < 0; });
  EXPECT_EQ(read, "abc");
  EXPECT_EQ(error, ECONNRESET);
}

}  // namespace
}  // namespace rtrain::loop
