#include "host/wire/tls_tunnel.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/loop/channel/byte_queue.h"
#include "host/wire/listener.h"
#include "host/wire/socket_address.h"
#include "host/wire/tls_session.h"

namespace rtrain::wire {
namespace {

// The most bytes that wait in one direction. At this limit the tunnel reads no more.
constexpr size_t kMostWaiting = size_t{1} << 20;
constexpr size_t kPartBytes = size_t{128} << 10;
// The time that a connection has to show its key.
constexpr double kHandshakeS = 3;
// The pause before the next attempt to accept a connection after one has failed.
constexpr double kNoDescriptorS = 0.1;
// After this time without an answer of the other node the connection ends.
constexpr int kSilenceS = 20;
// When one side has closed, bytes on their way to the other have this time.
constexpr double kLastBytesS = 60;

[[noreturn]] void fail(const std::string& what) {
  throw Error(Code::kEnvironment, cat(what, ": ", std::string_view(std::strerror(errno))));
}

SocketAddress parse(const std::string& address, int port) {
  const auto out = SocketAddress::parse(address, port);
  if (!out) throw Error(Code::kArgument, cat("'", address, "' is not an address"));
  return *out;
}

Fd make_socket(const SocketAddress& address) {
  Fd out(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out.is_open()) fail("cannot create a socket");
  return out;
}

void set(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof(value));
}

void prepare(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kSilenceS / 4);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kSilenceS / 4);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kSilenceS * 1000);
}

// The work of a tunnel's thread, with both ends.
class Carrier {
 public:
  Carrier(Fd socket, Fd local, Fd wake, bool is_server, WireKey key, double end_s)
      : socket_(std::move(socket)),
        local_(std::move(local)),
        wake_(std::move(wake)),
        is_server_(is_server),
        key_(std::move(key)),
        end_s_(end_s) {}

  void run() {
    if (is_server_ ? meet_client() : meet_server()) carry();
  }

 private:
  // Waits for any of the sockets. Returns false after the time, or when the tunnel is to end.
  bool wait(std::vector<pollfd> fds, double until_s) {
    fds.push_back({wake_.get(), POLLIN, 0});
    while (true) {
      const double left_s = std::clamp(until_s - monotonic_s(), 0.0, 3600.0);
      const int n = ::poll(fds.data(), fds.size(), static_cast<int>(to_ms(left_s).count()));
      if ((n < 0 && errno == EINTR) || (n == 0 && monotonic_s() < until_s)) continue;
      is_woken_ = fds.back().revents != 0;
      return n > 0 && !is_woken_;
    }
  }
  bool wait_for(int fd, short events, double until_s) { return wait({{fd, events, 0}}, until_s); }

  bool meet_server() {
    if (!wait_for(socket_.get(), POLLOUT, end_s_)) return false;
    far_ = std::move(socket_);
    tls_ = TlsSession::client(key_);
    return shake_hands(end_s_);
  }

  // Waits for the client with the key; closes other connections, also those that send nothing.
  bool meet_client() {
    while (wait_for(socket_.get(), POLLIN, end_s_)) {
      far_ = Fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!far_.is_open()) {
        // Without a free descriptor the connection stays in the queue, and the port stays readable.
        wait({}, std::min(end_s_, monotonic_s() + kNoDescriptorS));
        if (is_woken_) return false;
        continue;
      }
      prepare(far_.get());
      tls_ = TlsSession::server([this](std::string_view identity) {
        return identity == key_.identity ? std::optional<WireKey>(key_) : std::nullopt;
      });
      if (!shake_hands(std::min(end_s_, monotonic_s() + kHandshakeS))) continue;
      socket_.reset();
      return true;
    }
    return false;
  }

  bool shake_hands(double until_s) {
    while (true) {
      send();
      if (tls_->is_established()) return true;
      if (is_far_closed_ || tls_->failure() != TlsFailure::kNone) break;
      const bool has_more = !tls_->output().empty();
      if (!wait_for(far_.get(), static_cast<short>(has_more ? POLLIN | POLLOUT : POLLIN),
                    until_s)) {
        break;
      }
      receive();
    }
    is_far_closed_ = false;
    far_.reset();
    return false;
  }

  void carry() {
    while (!is_over()) {
      if (!wait_for_work()) return;
      receive();
      deliver();
      take();
      send();
    }
  }

  bool is_over() const {
    if (is_far_closed_) return received_.empty() || is_local_closed_;
    return is_local_closed_ && tls_->output().empty();
  }

  bool wait_for_work() {
    std::vector<pollfd> fds;
    const auto add = [&fds](int fd, bool reads, bool writes) {
      const int events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);
      if (events != 0) fds.push_back({fd, static_cast<short>(events), 0});
    };
    const bool has_room = received_.bytes().size() < kMostWaiting;
    if (!is_far_closed_) add(far_.get(), has_room, !tls_->output().empty());
    if (!is_local_closed_) {
      const bool may_take = !is_far_closed_ && tls_->output().bytes().size() < kMostWaiting;
      add(local_.get(), may_take, !received_.empty());
    }
    const bool is_ending = is_far_closed_ || is_local_closed_;
    if (!is_ending) return wait(std::move(fds), std::numeric_limits<double>::max());
    return wait(std::move(fds), monotonic_s() + kLastBytesS);
  }

  // Reads from the far side.
  void receive() {
    while (!is_far_closed_ && received_.bytes().size() < kMostWaiting) {
      const ssize_t n = ::recv(far_.get(), part_.data(), part_.size(), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n > 0) tls_->feed({part_.data(), static_cast<size_t>(n)});
      if (n > 0) decrypt();
      is_far_closed_ = n <= 0 || tls_->failure() != TlsFailure::kNone;
    }
  }
  void decrypt() {
    std::array<char, 16384> plain;
    while (const size_t n = tls_->read(plain.data(), plain.size())) {
      received_.add({plain.data(), n});
    }
  }

  // Writes to the near side.
  void deliver() {
    while (!is_local_closed_ && !received_.empty()) {
      const std::string_view bytes = received_.bytes();
      const ssize_t n = ::send(local_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      is_local_closed_ = n < 0;
      if (n > 0) received_.del(static_cast<size_t>(n));
    }
  }

  // Reads from the near side.
  void take() {
    while (!is_local_closed_ && !is_far_closed_ && tls_->output().bytes().size() < kMostWaiting) {
      const ssize_t n = ::recv(local_.get(), part_.data(), part_.size(), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      is_local_closed_ = n <= 0;
      if (n > 0) tls_->write({part_.data(), static_cast<size_t>(n)});
    }
  }

  // Writes to the far side.
  void send() {
    loop::ByteQueue& output = tls_->output();
    while (!is_far_closed_ && !output.empty()) {
      const std::string_view bytes = output.bytes();
      const ssize_t n = ::send(far_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      is_far_closed_ = n < 0;
      if (n > 0) output.del(static_cast<size_t>(n));
    }
  }

  Fd socket_;  // it listens, or connects
  Fd local_;
  Fd wake_;
  bool is_server_;
  WireKey key_;
  double end_s_;
  Fd far_;
  std::unique_ptr<TlsSession> tls_;
  std::vector<char> part_ = std::vector<char>(kPartBytes);
  loop::ByteQueue received_;  // decrypted, for the near end
  bool is_far_closed_ = false;
  bool is_local_closed_ = false;
  bool is_woken_ = false;
};

// The thread's function. At any error both ends get the end of the stream.
void carry(std::unique_ptr<Carrier> carrier) {
  ::pthread_setname_np(::pthread_self(), "rtrain-tunnel");
  try {
    carrier->run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rtrain: a connection to another node ends: %s\n", e.what());
  }
}

}  // namespace

TlsTunnel::TlsTunnel(Fd socket, bool is_server, WireKey key, std::chrono::milliseconds timeout) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    fail("cannot create a socket");
  near_ = Fd(pair[0]);
  Fd local(pair[1]);
  ::fcntl(local.get(), F_SETFL, O_NONBLOCK);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) fail("cannot create a pipe");
  Fd wake(pipe[0]);
  wake_ = Fd(pipe[1]);
  if (is_server) port_ = SocketAddress::near(socket.get()).port();
  const double end_s = monotonic_s() + std::chrono::duration<double>(timeout).count();
  auto carrier = std::make_unique<Carrier>(std::move(socket), std::move(local), std::move(wake),
                                           is_server, std::move(key), end_s);
  thread_ = std::thread(&carry, std::move(carrier));
}

TlsTunnel::~TlsTunnel() {
  wake_.reset();
  thread_.join();
}

std::unique_ptr<TlsTunnel> TlsTunnel::listen(const std::string& address, WireKey key,
                                             std::chrono::milliseconds timeout) {
  Fd socket = try_listen(parse(address, 0));
  if (!socket.is_open()) fail(cat("cannot listen at ", address));
  return std::unique_ptr<TlsTunnel>(
      new TlsTunnel(std::move(socket), true, std::move(key), timeout));
}

std::unique_ptr<TlsTunnel> TlsTunnel::connect(const std::string& address, int port, WireKey key,
                                              std::chrono::milliseconds timeout) {
  const SocketAddress wanted = parse(address, port);
  Fd socket = make_socket(wanted);
  prepare(socket.get());
  if (::connect(socket.get(), wanted.get(), wanted.size()) != 0 && errno != EINPROGRESS) {
    fail(cat("cannot connect to ", wanted.text()));
  }
  return std::unique_ptr<TlsTunnel>(
      new TlsTunnel(std::move(socket), false, std::move(key), timeout));
}

}  // namespace rtrain::wire
