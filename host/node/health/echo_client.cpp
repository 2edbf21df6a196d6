#include "host/node/health/echo_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/files/receive_buffer.h"
#include "host/base/text/text.h"
#include "host/node/health/echo_server.h"
#include "host/wire/socket_address.h"

namespace rtrain::node {
namespace {

constexpr size_t kPartBytes = size_t{64} << 10;

double deadline(std::chrono::milliseconds timeout) {
  return monotonic_s() + std::chrono::duration<double>(timeout).count();
}

[[noreturn]] void lost(const std::string& text) { throw Error(Code::kPeerLost, text); }

// Throws: the connection was refused, or this process had no descriptor or port left.
[[noreturn]] void not_connected(const wire::SocketAddress& address, int reason) {
  const bool is_own = is_lack_of(reason);
  throw Error(is_own ? Code::kEnvironment : Code::kPeerLost,
              cat("cannot connect to ", address.text(), ": ", std::strerror(reason)));
}

}  // namespace

EchoClient::EchoClient(const EchoAddress& peer, std::chrono::milliseconds timeout) {
  const auto address = wire::SocketAddress::parse(peer.address, peer.port);
  if (!address) lost(cat("not an address: '", peer.address, "'"));
  const double until_s = deadline(timeout);
  socket_ = Fd(::socket(address->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_.is_open()) not_connected(*address, errno);
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(socket_.get(), address->get(), address->size()) != 0 && errno != EINPROGRESS) {
    not_connected(*address, errno);
  }
  int error = 0;
  socklen_t size = sizeof(error);
  if (!wait(POLLOUT, until_s)) lost(cat("no connection to ", address->text(), " within its time"));
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) not_connected(*address, error);
  head_ = peer.key;
}

bool EchoClient::wait(short events, double until_s) const {
  pollfd one{.fd = socket_.get(), .events = events, .revents = 0};
  const double left_ms = std::ceil((until_s - monotonic_s()) * 1000);
  return ::poll(&one, 1, static_cast<int>(std::max(0.0, left_ms))) > 0;
}

void EchoClient::write(std::string_view bytes, double until_s) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EAGAIN) {
      lost(cat("the connection is closed: ", std::strerror(errno)));
    } else if (!wait(POLLOUT, until_s)) {
      lost("the bytes are not taken within their time");
    }
  }
}

void EchoClient::send(size_t bytes, std::chrono::milliseconds timeout) {
  const double until_s = deadline(timeout);
  std::string part = std::exchange(head_, {}) + echo_header(bytes);
  for (size_t left = bytes; left > 0;) {
    const size_t count = std::min(left, kPartBytes);
    part.append(count, 'x');
    write(part, until_s);
    part.clear();
    left -= count;
  }
  expected_ += bytes;
}

bool EchoClient::receive(std::chrono::milliseconds timeout) {
  const double until_s = deadline(timeout);
  const std::span<char> part = receive_buffer();
  while (expected_ > 0) {
    const ssize_t n = ::recv(socket_.get(), part.data(), std::min(part.size(), expected_), 0);
    if (n > 0) {
      expected_ -= static_cast<size_t>(n);
    } else if (n == 0 || errno != EAGAIN) {
      lost(cat("the connection is closed", n == 0 ? "" : cat(": ", std::strerror(errno))));
    } else if (!wait(POLLIN, until_s)) {
      return false;
    }
  }
  return true;
}

uint32_t EchoClient::num_sent_again() const {
  tcp_info info{};
  socklen_t size = sizeof(info);
  ::getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &size);
  return info.tcpi_total_retrans;
}

}  // namespace rtrain::node
