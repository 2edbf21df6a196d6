#include "host/wire/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/wire/wire_frame.h"

namespace rtrain::wire {
namespace {

// After this many bytes the loop does its other work first.
constexpr size_t kBytesARound = size_t{256} << 10;
// Above this number of encrypted, unsent bytes a writer waits.
constexpr size_t kMaxUnsentBytes = size_t{256} << 10;

std::string reason_of(int error) {
  return error == 0 ? "the other side closed the connection" : std::strerror(error);
}

}  // namespace

Connection::Connection(loop::Loop& loop, Fd socket, const WireKey& key,
                       ConnectionDelegate& delegate)
    : delegate_(&delegate),
      near_(SocketAddress::near(socket.get())),
      far_(SocketAddress::far(socket.get())),
      poll_(loop, socket.release(), [this](int events) { on_ready(events); }),
      tls_(TlsSession::client(key)),
      frames_(kMaxWireFrameBytes) {
  start();
}

Connection::Connection(loop::Loop& loop, Fd socket, TlsSession::FindKey find_key,
                       ConnectionDelegate& delegate)
    : delegate_(&delegate),
      near_(SocketAddress::near(socket.get())),
      far_(SocketAddress::far(socket.get())),
      poll_(loop, socket.release(), [this](int events) { on_ready(events); }),
      tls_(TlsSession::server(std::move(find_key))),
      frames_(kMaxWireFrameBytes) {
  start();
}

void Connection::start() {
  heard_at_s_ = boot_s();
  const int on = 1;
  setsockopt(poll_.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  poll_.start(UV_READABLE);
  flush();
}

void Connection::write(std::string_view frames) {
  if (state_ == State::kOpen) tls_->write(frames);
}

void Connection::flush() {
  loop::ByteQueue& output = tls_->output();
  while (state_ != State::kClosed && !output.empty()) {
    const std::string_view bytes = output.bytes();
    const ssize_t n = ::send(poll_.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) output.clear();  // the next read returns the end
    if (n < 0) break;
    output.del(static_cast<size_t>(n));
  }
  if (state_ == State::kClosed) return;
  if (!is_writable()) is_stuck_ = true;
  if (!output.empty()) return poll_.start(UV_READABLE | UV_WRITABLE);
  poll_.start(UV_READABLE);
  if (state_ == State::kClosing) ::shutdown(poll_.fd(), SHUT_WR);
}

bool Connection::is_writable() const {
  return state_ == State::kOpen && tls_->output().bytes().size() < kMaxUnsentBytes;
}

void Connection::release_buffers() {
  if (tls_->output().empty()) tls_->output() = loop::ByteQueue();
  if (frames_.pending() == 0) frames_ = loop::FrameReader(kMaxWireFrameBytes);
}

void Connection::close() {
  state_ = State::kClosed;
  poll_.close();
}

void Connection::close_after_flush() {
  if (state_ != State::kOpen) return;
  state_ = State::kClosing;
  flush();
}

void Connection::on_ready(int events) {
  if ((events & UV_WRITABLE) != 0) {
    flush();
    if (is_stuck_ && is_writable()) {
      is_stuck_ = false;
      delegate_->on_writable();
    }
  }
  if ((events & UV_READABLE) == 0) return;
  if (state_ == State::kOpen) read();
  if (state_ == State::kClosing) discard_input();
}

void Connection::read() {
  std::array<char, 65536> buffer;
  for (size_t done = 0; state_ == State::kOpen && done < kBytesARound;) {
    const ssize_t n = ::recv(poll_.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return end({.text = reason_of(n == 0 ? 0 : errno)});
    done += static_cast<size_t>(n);
    heard_at_s_ = boot_s();
    const bool is_all = static_cast<size_t>(n) < buffer.size();
    try {
      read_frames({buffer.data(), static_cast<size_t>(n)});
    } catch (const Error& e) {
      if (e.code() != Code::kArgument) throw;
      end({.kind = ConnectionEnd::Kind::kBadFrame, .text = e.message()});
    }
    if (is_all) return;  // the loop calls again when there is more
  }
}

void Connection::read_frames(std::string_view bytes) {
  const bool was_established = tls_->is_established();
  tls_->feed(bytes);
  if (tls_->is_established() && !was_established) {
    flush();
    delegate_->on_established();
  } else if (!was_established) {
    flush();
  }
  std::array<char, 16384> plain;
  while (state_ == State::kOpen) {
    const size_t n = tls_->read(plain.data(), plain.size());
    if (n == 0) break;
    frames_.add({plain.data(), n});
    while (state_ == State::kOpen) {
      const auto body = frames_.next();
      if (!body) break;
      delegate_->on_body(*body);
    }
  }
  if (tls_->failure() != TlsFailure::kNone && state_ == State::kOpen) end_tls();
}

// Sends the alert and discards further bytes of the peer: where a socket with unread bytes is
// closed the peer does not get the alert.
void Connection::end_tls() {
  const bool was_established = tls_->is_established();
  close_after_flush();
  delegate_->on_closed(
      {.kind = was_established ? ConnectionEnd::Kind::kLost : ConnectionEnd::Kind::kHandshake,
       .tls = tls_->failure(),
       .text = tls_->failure_text()});
}

void Connection::discard_input() {
  std::array<char, 65536> buffer;
  for (size_t done = 0; done < kBytesARound;) {
    const ssize_t n = ::recv(poll_.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return close();
    done += static_cast<size_t>(n);
  }
}

void Connection::end(ConnectionEnd end) {
  if (state_ != State::kOpen) return;
  close();
  delegate_->on_closed(end);
}

}  // namespace rtrain::wire
