#include "host/http/http_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/wire/socket_address.h"

namespace rtrain::http {
namespace {

// From the connection, or from a request's first byte, to the end of that request.
constexpr double kRequestS = 5;
// The limit between two requests.
constexpr double kIdleS = 60;
// The limit for a peer that reads no byte although there are some for it.
constexpr double kSendS = 20;
constexpr size_t kMaxBacklog = size_t{256} << 10;
constexpr size_t kReadBytes = size_t{16} << 10;
// A large file is sent in such pieces, so that other connections get answers between them.
constexpr size_t kFileBytes = size_t{64} << 10;
constexpr size_t kWriteBytes = size_t{1} << 20;
// The limit for requests that arrive before the last one was answered.
constexpr size_t kMaxAhead = kMaxHeaderBytes + kMaxBodyBytes;

// The first byte of a client that speaks TLS.
constexpr char kTlsHandshake = 0x16;

bool may_pass(int reason) { return reason == EAGAIN || reason == EWOULDBLOCK || reason == EINTR; }

}  // namespace

HttpConnection::HttpConnection(loop::Loop& loop, int64_t number, Fd socket,
                               HttpConnectionDelegate& delegate,
                               std::unique_ptr<wire::TlsSession> tls)
    : number_(number),
      peer_(wire::SocketAddress::far(socket.get()).host()),
      delegate_(delegate),
      tls_(std::move(tls)),
      deadline_s_(monotonic_s() + kRequestS),
      poll_(loop, socket.release(), [this](int events) { on_ready(events); }) {
  watch();
}

void HttpConnection::on_ready(int events) {
  if ((events & UV_WRITABLE) != 0) write();
  if (!is_closed() && (events & UV_READABLE) != 0 && !read()) return close();
  if (!is_closed()) take_request();
  if (!is_closed() && has_more()) write();  // bytes that TLS has produced
  if (!is_closed()) watch();
}

// Returns false if the peer has closed, or sends more bytes than requests may wait with.
bool HttpConnection::read() {
  char buffer[kReadBytes];
  const ssize_t count = ::recv(poll_.fd(), buffer, sizeof(buffer), 0);
  if (count < 0) return may_pass(errno);
  if (count == 0) return false;
  if (mode_ == Mode::kEvents || mode_ == Mode::kLast) return true;  // no further request is read
  const bool was_within = parser_.is_within_request();
  if (!take({buffer, static_cast<size_t>(count)})) return false;
  if (mode_ == Mode::kRequest && !was_within) deadline_s_ = monotonic_s() + kRequestS;
  return mode_ == Mode::kRequest || parser_.pending_bytes() <= kMaxAhead;
}

// Returns false if TLS has ended.
bool HttpConnection::take(std::string_view bytes) {
  if (tls_ && !tls_->is_established() && !has_bytes_ && bytes.front() != kTlsHandshake) {
    tls_.reset();  // the answer is plain text too
    request_.keep_alive = false;
    mode_ = Mode::kAnswering;
    answer(error_response(400, "wants_tls", "this port speaks TLS: the address begins with https"));
    return true;
  }
  has_bytes_ = true;
  if (!tls_) {
    parser_.feed(bytes);
    return true;
  }
  tls_->feed(bytes);
  char plain[kReadBytes];
  while (const size_t count = tls_->read(plain, sizeof(plain))) parser_.feed({plain, count});
  if (tls_->failure() == wire::TlsFailure::kNone) return true;
  write();  // the alert that says why it ended
  return false;
}

void HttpConnection::send(std::string_view bytes) {
  if (tls_) {
    tls_->write(bytes);
  } else {
    output_.add(bytes);
  }
}

void HttpConnection::take_request() {
  if (mode_ != Mode::kRequest) return;
  auto request = parser_.next();
  if (request) {
    request_ = std::move(*request);
    request_.peer = peer_;
    mode_ = Mode::kAnswering;
    return delegate_.on_request(*this, request_);
  }
  if (parser_.refused() != 0) refuse(parser_.refused());
}

void HttpConnection::refuse(int status) {
  request_ = HttpRequest();
  request_.keep_alive = false;
  mode_ = Mode::kAnswering;
  answer(error_response(status, "bad_request",
                        cat("the request was not read: a header may have ", kMaxHeaderBytes,
                            " bytes, a body ", kMaxBodyBytes, ", a request ", kRequestS, " s")));
}

void HttpConnection::answer(HttpResponse response) {
  if (is_closed()) return;
  const bool keep = request_.keep_alive;
  has_answered_ = true;
  rest_ = sent_response(request_, std::move(response), keep);
  send(std::exchange(rest_.bytes, {}));
  // The connection cannot take another request before the file's end.
  if (!rest_.file) mode_ = keep ? Mode::kRequest : Mode::kLast;
  deadline_s_ = monotonic_s() + kSendS;
  write();
  if (is_closed()) return;
  watch();
}

void HttpConnection::begin_events() {
  if (is_closed()) return;
  mode_ = Mode::kEvents;
  send(event_stream_head());
  deadline_s_ = monotonic_s() + kSendS;
  write();
  if (!is_closed()) watch();
}

void HttpConnection::add_events(std::string_view events) {
  if (is_closed() || events.empty()) return;
  if (unsent().empty()) deadline_s_ = monotonic_s() + kSendS;
  send(events);
  write();
  if (!is_closed()) watch();
}

void HttpConnection::end_events() {
  if (is_closed()) return;
  mode_ = Mode::kLast;
  write();
}

bool HttpConnection::is_behind() { return unsent().bytes().size() > kMaxBacklog; }

void HttpConnection::write() {
  loop::ByteQueue& output = unsent();
  size_t written = 0;
  while (!output.empty() || (written < kWriteBytes && take_from_file())) {
    const std::string_view bytes = output.bytes();
    const ssize_t count = ::send(poll_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0) {
      if (may_pass(errno)) return;
      return close();
    }
    output.del(static_cast<size_t>(count));
    written += static_cast<size_t>(count);
    if (mode_ == Mode::kRequest && !has_answered_) continue;  // the limit includes the handshake
    deadline_s_ = monotonic_s() + (output.empty() && mode_ == Mode::kRequest ? kIdleS : kSendS);
  }
  if (mode_ == Mode::kLast && !has_more()) close();
}

bool HttpConnection::take_from_file() {
  if (!rest_.file) return false;
  const auto left = static_cast<size_t>(rest_.part.end - rest_.part.begin);
  if (left == 0) {
    end_file();
    return false;
  }
  const std::string bytes = rest_.file->read(rest_.part.begin, std::min(left, kFileBytes));
  if (bytes.empty()) {  // the file has become shorter
    close();
    return false;
  }
  rest_.part.begin += static_cast<int64_t>(bytes.size());
  send(bytes);
  if (bytes.size() == left) end_file();
  return true;
}

void HttpConnection::end_file() {
  rest_ = {};
  mode_ = request_.keep_alive ? Mode::kRequest : Mode::kLast;
  deadline_s_ = monotonic_s() + (unsent().empty() ? kIdleS : kSendS);
}

void HttpConnection::watch() { poll_.start(UV_READABLE | (has_more() ? UV_WRITABLE : 0)); }

void HttpConnection::close() { poll_.close(); }

void HttpConnection::check_time(double now_s) {
  if (is_closed()) return;
  // Takes requests that arrived before the last one was answered.
  if (mode_ == Mode::kRequest && unsent().empty() && parser_.pending_bytes() > 0) take_request();
  if (is_closed() || now_s < deadline_s_) return;
  if (has_more()) return close();
  if (mode_ != Mode::kRequest) return;  // it is being answered, or cannot get a refusal
  if (!parser_.is_within_request()) return close();
  refuse(408);
}

}  // namespace rtrain::http
