#include "host/node/echo_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/fd.h"
#include "host/base/text.h"
#include "host/wire/listener.h"

namespace rtrain {
namespace {

constexpr size_t kMostGuests = 4096;
constexpr double kKeyTimeS = 5;
constexpr std::chrono::seconds kLook{1};
constexpr size_t kPartBytes = size_t{64} << 10;

// Not open: errno says why.
Fd listener_at(const std::string& address, int port) {
  const auto wanted = SocketAddress::parse(address, port);
  errno = EADDRNOTAVAIL;
  return wanted ? try_listen(*wanted) : Fd();
}

}  // namespace

std::string echo_header(size_t bytes) {
  const uint32_t number = htonl(static_cast<uint32_t>(bytes));
  std::string out(sizeof(number), '\0');
  std::memcpy(out.data(), &number, sizeof(number));
  return out;
}

// One client.
class EchoServer::Guest {
 public:
  Guest(Loop& loop, int fd, const std::string& key)
      : key_(key), poll_(loop, fd, [this](int) { serve(); }) {
    poll_.start(UV_READABLE);
  }

  bool is_over() const { return is_closed_ || (!has_key_ && monotonic_s() - begun_s_ > kKeyTimeS); }

 private:
  void serve() {
    while (!is_closed_ && (to_send_ > 0 ? send() : receive())) {
    }
    if (is_closed_) return poll_.close();
    poll_.start(to_send_ > 0 ? UV_WRITABLE : UV_READABLE);
  }

  // False when the socket has no more now.
  bool receive() {
    std::array<char, kPartBytes> part{};
    const size_t head = has_key_ ? sizeof(uint32_t) : kEchoKeyBytes;
    const size_t wanted = to_receive_ > 0 ? to_receive_ : head - head_.size();
    const ssize_t n = ::recv(poll_.fd(), part.data(), std::min(part.size(), wanted), 0);
    if (n <= 0) return end(n);
    if (to_receive_ > 0) {
      to_receive_ -= static_cast<size_t>(n);
      if (to_receive_ == 0) to_send_ = size_;
    } else {
      head_.append(part.data(), static_cast<size_t>(n));
      if (head_.size() == head) take_head();
    }
    return true;
  }

  void take_head() {
    const std::string head = std::exchange(head_, {});
    if (!std::exchange(has_key_, true)) {
      is_closed_ = head != key_;
      return;
    }
    uint32_t number = 0;
    std::memcpy(&number, head.data(), sizeof(number));
    size_ = to_receive_ = ntohl(number);
    is_closed_ = size_ == 0 || size_ > kMostEchoBytes;
  }

  bool send() {
    static const std::string part(kPartBytes, 'x');
    const size_t count = std::min(part.size(), to_send_);
    const ssize_t n = ::send(poll_.fd(), part.data(), count, MSG_NOSIGNAL);
    if (n <= 0) return end(n);
    to_send_ -= static_cast<size_t>(n);
    return true;
  }

  bool end(ssize_t n) {
    is_closed_ = n == 0 || errno != EAGAIN;
    return false;
  }

  const std::string& key_;
  double begun_s_ = monotonic_s();
  bool has_key_ = false;
  bool is_closed_ = false;
  std::string head_;
  size_t size_ = 0;  // of the request
  size_t to_receive_ = 0;
  size_t to_send_ = 0;
  Poll poll_;
};

EchoServer::EchoServer(Loop& loop, const std::string& address, int port, std::string key)
    : loop_(loop), key_(std::move(key)), timer_(loop, [this] { look(); }) {
  Fd listener = listener_at(address, port);
  if (!listener.is_open() && errno == EADDRINUSE) listener = listener_at(address, 0);
  if (!listener.is_open()) {
    throw Error(Code::kEnvironment, cat("cannot listen at '", address, "' for the checks of other ",
                                        "hosts: ", std::strerror(errno)));
  }
  listener_ = std::make_unique<Poll>(loop, listener.release(), [this](int) { accept(); });
  listener_->start(UV_READABLE);
  timer_.start(kLook);
}

EchoServer::~EchoServer() = default;

int EchoServer::port() const { return SocketAddress::near(listener_->fd()).port(); }

void EchoServer::accept() {
  const int fd = ::accept4(listener_->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (guests_.size() >= kMostGuests) {
    ::close(fd);
    return;
  }
  guests_.push_back(std::make_unique<Guest>(loop_, fd, key_));
}

void EchoServer::look() {
  timer_.start(kLook);
  std::erase_if(guests_, [](const auto& guest) { return guest->is_over(); });
}

}  // namespace rtrain
