// tests/unit/cutting_proxy.h: a relay between a client and a server that breaks its connections
// after a random number of bytes, in the same loop as both.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <functional>
#include <list>
#include <memory>
#include <random>

#include "host/base/files/fd.h"
#include "host/loop/channel/byte_queue.h"
#include "host/loop/poll.h"
#include "host/loop/turn_end.h"
#include "host/wire/socket_address.h"

namespace rtrain {

class CuttingProxy {
 public:
  // The ways in which a connection breaks.
  enum class Break {
    kClose,    // both ends see the connection end
    kReset,    // both ends see an error and lose the bytes in flight
    kDamage,   // a byte arrives changed
    kSilence,  // nothing arrives any more, and neither end learns of it
  };
  struct Plan {
    uint64_t bytes;
    Break how;
  };

  // `plan` is called for each connection: it returns after how many bytes, counted in both
  // directions, the connection breaks, and how.
  CuttingProxy(loop::Loop& loop, const wire::SocketAddress& server, std::function<Plan()> plan)
      : loop_(loop),
        server_(server),
        plan_(std::move(plan)),
        listener_(loop, listen(), [this](int) { accept(); }),
        turn_end_(loop, [this] { remove_dead(); }) {
    listener_.start(UV_READABLE);
  }

  int port() const { return wire::SocketAddress::near(listener_.fd()).port(); }
  int num_breaks() const { return num_breaks_; }

 private:
  struct End {
    std::optional<loop::Poll> poll;
    loop::ByteQueue unsent;  // bytes still to be written to this socket
  };
  struct Pair {
    End near;
    End far;
    Plan plan;
    bool is_silent = false;
    bool is_dead = false;
  };

  static int listen() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const wire::SocketAddress any = *wire::SocketAddress::parse("127.0.0.1", 0);
    EXPECT_EQ(::bind(fd, any.get(), any.size()), 0);
    EXPECT_EQ(::listen(fd, SOMAXCONN), 0);
    return fd;
  }

  void accept() {
    const int near = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (near < 0) return;
    const int far = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int status = ::connect(far, server_.get(), server_.size());
    EXPECT_TRUE(status == 0 || errno == EINPROGRESS);
    Pair& pair = *pairs_.emplace_back(new Pair{.near = {}, .far = {}, .plan = plan_()});
    watch(pair, pair.near, pair.far, near);
    watch(pair, pair.far, pair.near, far);
  }

  void watch(Pair& pair, End& end, End& other, int fd) {
    end.poll.emplace(loop_, fd, [this, &pair, &end, &other](int events) {
      if (pair.is_dead) return;
      if ((events & UV_WRITABLE) != 0) write(end);
      if ((events & UV_READABLE) != 0) relay(pair, end, other);
    });
    end.poll->start(UV_READABLE);
  }

  static void write(End& end) {
    while (!end.unsent.empty()) {
      const std::string_view bytes = end.unsent.bytes();
      const ssize_t n = ::send(end.poll->fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0) break;
      end.unsent.del(static_cast<size_t>(n));
    }
    end.poll->start(end.unsent.empty() ? UV_READABLE : UV_READABLE | UV_WRITABLE);
  }

  void relay(Pair& pair, End& from, End& to) {
    std::array<char, 16384> buffer;
    const ssize_t n = ::recv(from.poll->fd(), buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return kill(pair, Break::kClose);
    if (pair.is_silent) return;
    auto count = static_cast<size_t>(n);
    const bool breaks = count > pair.plan.bytes;
    if (breaks) {
      count = static_cast<size_t>(pair.plan.bytes);
      if (pair.plan.how == Break::kDamage) buffer[count++] ^= 1;
    }
    pair.plan.bytes -= std::min<uint64_t>(pair.plan.bytes, count);
    to.unsent.add({buffer.data(), count});
    write(to);
    if (!breaks) return;
    ++num_breaks_;
    if (pair.plan.how == Break::kSilence) pair.is_silent = true;
    if (pair.plan.how == Break::kDamage) pair.plan.bytes = UINT64_MAX;
    if (pair.plan.how <= Break::kReset) kill(pair, pair.plan.how);
  }

  void kill(Pair& pair, Break how) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    for (End* end : {&pair.near, &pair.far}) {
      if (how == Break::kReset)
        setsockopt(end->poll->fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
      end->poll->close();
    }
    pair.is_dead = true;
    turn_end_.ask();
  }

  void remove_dead() {
    pairs_.remove_if([](const auto& pair) { return pair->is_dead; });
  }

  loop::Loop& loop_;
  wire::SocketAddress server_;
  std::function<Plan()> plan_;
  int num_breaks_ = 0;
  std::list<std::unique_ptr<Pair>> pairs_;
  loop::Poll listener_;
  loop::TurnEnd turn_end_;
};

}  // namespace rtrain
