#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "host/base/codec/codec.h"
#include "host/control/control_way.h"
#include "host/loop/channel/frame.h"
#include "host/train/control_server.h"

namespace rtrain::control {
namespace {

using Clock = std::chrono::steady_clock;

class ControlSocket : public ControlWay {
 public:
  explicit ControlSocket(int fd) : fd_(fd) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) pid_ = peer.pid;
  }
  ~ControlSocket() override { ::close(fd_); }
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  bool send(const Value& request) override {
    const std::string frame = loop::to_frame(encode(request));
    const ssize_t sent = ::send(fd_, frame.data(), frame.size(), MSG_NOSIGNAL);
    return sent == static_cast<ssize_t>(frame.size());
  }

  Read read(std::chrono::milliseconds timeout, Value& message) override {
    const auto deadline = Clock::now() + timeout;
    std::array<char, 65536> buffer;
    for (;;) {
      if (const auto body = frames_.next()) {
        message = decode(*body);
        return Read::kMessage;
      }
      const ssize_t n = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (n > 0) {
        frames_.add({buffer.data(), static_cast<size_t>(n)});
        continue;
      }
      if (n == 0 || (errno != EAGAIN && errno != EINTR)) return Read::kEnd;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return Read::kTimeout;
      pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, static_cast<int>(std::min<int64_t>(left.count(), 60000)));
    }
  }

  std::optional<int> pid() const override { return pid_; }

 private:
  int fd_;
  std::optional<int> pid_;
  loop::FrameReader frames_;
};

}  // namespace

std::unique_ptr<ControlWay> control_socket(const std::string& run_id) {
  const int fd = train::connect_control_socket(train::control_socket_name(run_id));
  return fd < 0 ? nullptr : std::make_unique<ControlSocket>(fd);
}

}  // namespace rtrain::control
