#include "host/node/health/echo_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/files/receive_buffer.h"
#include "host/base/secrets.h"
#include "host/base/text/text.h"
#include "host/wire/listener.h"

namespace rtrain::node {
namespace {

// Limit of connections that have not sent the key, and thereby of descriptors that strangers can
// use. While others wait, such a connection is closed after a moment.
constexpr size_t kMostStrangers = 256;
constexpr double kFairTimeS = 0.25;
constexpr double kKeyTimeS = 5;
// In a large job all nodes may check one of them at the same time.
constexpr size_t kMostGuests = 4096;
// Time limit from one request to the next. Nodes that watch this one send several a second.
constexpr double kRequestTimeS = 120;
constexpr int kAcceptsARound = 64;
constexpr std::chrono::milliseconds kLook{250};
constexpr size_t kPartBytes = size_t{64} << 10;

// Returns a descriptor that is not open on failure, and sets errno.
Fd listener_at(const std::string& address, int port) {
  const auto wanted = wire::SocketAddress::parse(address, port);
  errno = EADDRNOTAVAIL;
  return wanted ? wire::try_listen(*wanted) : Fd();
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
  Guest(loop::Loop& loop, Fd socket, const std::string& key)
      : key_(key), poll_(loop, socket.release(), [this](int) { serve(); }) {
    poll_.start(UV_READABLE);
  }

  bool is_stranger() const { return !has_key_; }
  bool has_had_its_share() const { return monotonic_s() - begun_s_ > kFairTimeS; }
  bool is_over() const {
    return is_closed_ || monotonic_s() - begun_s_ > (has_key_ ? kRequestTimeS : kKeyTimeS);
  }

 private:
  void serve() {
    while (!is_closed_ && (to_send_ > 0 ? send() : receive())) {
    }
    if (is_closed_) return poll_.close();
    poll_.start(to_send_ > 0 ? UV_WRITABLE : UV_READABLE);
  }

  // Returns false once the socket has no more data.
  bool receive() {
    const std::span<char> part = receive_buffer();
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
    begun_s_ = monotonic_s();
    if (!std::exchange(has_key_, true)) {
      is_closed_ = !is_same_secret(head, key_);
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
  double begun_s_ = monotonic_s();  // when its wait for the key, or its latest request, began
  bool has_key_ = false;
  bool is_closed_ = false;
  std::string head_;
  size_t size_ = 0;  // of the request
  size_t to_receive_ = 0;
  size_t to_send_ = 0;
  loop::Poll poll_;
};

EchoServer::EchoServer(loop::Loop& loop, const std::string& address, int port, std::string key)
    : loop_(loop), key_(std::move(key)), timer_(loop, [this] { look(); }) {
  Fd listener = listener_at(address, port);
  if (!listener.is_open() && errno == EADDRINUSE) listener = listener_at(address, 0);
  if (!listener.is_open()) {
    throw Error(Code::kEnvironment, cat("cannot listen at '", address, "' for the checks of other ",
                                        "nodes: ", std::strerror(errno)));
  }
  files_ = std::make_unique<machine::FileReserve>(static_cast<int>(kMostStrangers));
  listener_ = std::make_unique<loop::Poll>(loop, listener.release(), [this](int) { accept(); });
  listener_->start(UV_READABLE);
  timer_.start(kLook);
}

EchoServer::~EchoServer() = default;

int EchoServer::port() const { return wire::SocketAddress::near(listener_->fd()).port(); }

// Connections without a place or a descriptor wait in the kernel's queue until the next call.
void EchoServer::accept() {
  for (int i = 0; i < kAcceptsARound; ++i) {
    if (!make_place()) return listener_->stop();
    Fd socket(::accept4(listener_->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.is_open()) {
      if (errno == ECONNABORTED || errno == EINTR) continue;
      if (errno != EAGAIN) listener_->stop();
      return;
    }
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    guests_.push_back(std::make_unique<Guest>(loop_, std::move(socket), key_));
  }
}

bool EchoServer::make_place() {
  const auto is_stranger = [](const auto& guest) { return guest->is_stranger(); };
  const auto strangers = std::ranges::count_if(guests_, is_stranger);
  if (guests_.size() < kMostGuests && strangers < static_cast<ptrdiff_t>(kMostStrangers)) {
    return true;
  }
  const auto oldest = std::ranges::find_if(guests_, is_stranger);
  if (oldest == guests_.end() || !(*oldest)->has_had_its_share()) return false;
  guests_.erase(oldest);
  return true;
}

void EchoServer::look() {
  timer_.start(kLook);
  std::erase_if(guests_, [](const auto& guest) { return guest->is_over(); });
  listener_->start(UV_READABLE);
}

}  // namespace rtrain::node
