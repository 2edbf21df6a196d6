#include "host/http/http_port.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/wire/listener.h"

namespace rtrain::http {
namespace {

constexpr int kAcceptsARound = 64;
constexpr std::chrono::milliseconds kBetweenSweeps{250};

Fd listener_of(const HttpPortOptions& options) {
  const auto address = wire::SocketAddress::parse(options.address, options.port);
  if (address) return wire::listen_at(*address, options.more_ports);
  throw Error(Code::kUsage, cat("'", options.address, "' is not a numeric address to listen at"));
}

}  // namespace

HttpPort::HttpPort(loop::Loop& loop, const HttpPortOptions& options, HttpPortDelegate& delegate)
    : loop_(loop), options_(options), delegate_(delegate), sweep_timer_(loop, [this] { sweep(); }) {
  Fd listener = listener_of(options);
  address_ = wire::SocketAddress::near(listener.get());
  listener_.emplace(loop, listener.release(), [this](int) { accept(); });
  listener_->start(UV_READABLE);
  sweep_timer_.start(kBetweenSweeps);
}

HttpConnection* HttpPort::find(int64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end() || found->second->is_closed()) return nullptr;
  return found->second.get();
}

void HttpPort::accept() {
  for (int i = 0; i < kAcceptsARound; ++i) {
    Fd socket(::accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      // Connections wait in the kernel's queue until a descriptor is free.
      if (errno == EMFILE || errno == ENFILE) listener_->stop();
      return;
    }
    if (!make_place()) continue;  // the new connection is closed at once
    const int64_t number = ++last_number_;
    auto tls = options_.certificate ? options_.certificate->session() : nullptr;
    connections_.emplace(number, std::make_unique<HttpConnection>(loop_, number, std::move(socket),
                                                                  delegate_, std::move(tls)));
  }
}

// Returns false if all connections are being answered.
bool HttpPort::make_place() {
  if (connections_.size() < options_.max_connections) return true;
  const auto idle = std::find_if(connections_.begin(), connections_.end(), [](const auto& entry) {
    return entry.second->is_closed() || entry.second->is_idle();
  });
  if (idle == connections_.end()) return false;
  delegate_.on_closed(idle->first);
  connections_.erase(idle);
  return true;
}

void HttpPort::sweep() {
  const double now_s = monotonic_s();
  for (auto& entry : connections_) entry.second->check_time(now_s);
  std::erase_if(connections_, [this](const auto& entry) {
    if (!entry.second->is_closed()) return false;
    delegate_.on_closed(entry.first);
    return true;
  });
  listener_->start(UV_READABLE);
  sweep_timer_.start(kBetweenSweeps);
}

}  // namespace rtrain::http
