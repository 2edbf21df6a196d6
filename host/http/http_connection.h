// host/http/http_connection.h: one client of a port: its bytes become requests, which are
// answered one after the other, or with a stream of events.
//
// Belongs to the loop's thread. Reads no request while one is being answered. Time and memory are
// bounded: a file is read as it is sent, a request has to be whole, and an answer read, within some
// seconds; events that a slow reader has not taken are at most kMaxBacklog. With a TlsSession all
// bytes pass through it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "host/base/files/fd.h"
#include "host/http/http_parser.h"
#include "host/http/http_response.h"
#include "host/loop/channel/byte_queue.h"
#include "host/loop/poll.h"
#include "host/wire/tls_session.h"

namespace rtrain::http {

class HttpConnection;

class HttpConnectionDelegate {
 public:
  virtual ~HttpConnectionDelegate() = default;
  // To be answered with answer() or begin_events(), at once or later.
  virtual void on_request(HttpConnection& connection, HttpRequest request) = 0;
};

class HttpConnection {
 public:
  // The socket does not block.
  HttpConnection(loop::Loop& loop, int64_t number, Fd socket, HttpConnectionDelegate& delegate,
                 std::unique_ptr<wire::TlsSession> tls = nullptr);

  int64_t number() const { return number_; }
  // The request that is being answered.
  const HttpRequest& request() const { return request_; }

  // Sends the answer; then the next request may come, or the connection ends.
  void answer(HttpResponse response);
  // Sends a head, then events as they come, without end.
  void begin_events();
  void add_events(std::string_view events);
  // The connection ends when the peer has all that was added.
  void end_events();
  // Events would only pile up.
  bool is_behind();

  bool is_closed() const { return poll_.fd() < 0; }
  // It waits for a request: whoever needs its place may close it.
  bool is_idle() const { return mode_ == Mode::kRequest; }
  void close();
  // Closes it when its time is up.
  void check_time(double now_s);

 private:
  enum class Mode { kRequest, kAnswering, kEvents, kLast };

  void on_ready(int events);
  bool read();
  bool take(std::string_view bytes);
  void send(std::string_view bytes);
  loop::ByteQueue& unsent() { return tls_ ? tls_->output() : output_; }
  void take_request();
  void refuse(int status);
  void write();
  // Takes the next bytes of the rest of a file; false: there is nothing, or no more now.
  bool take_from_file();
  void end_file();
  bool has_more() { return !unsent().empty() || rest_.file; }
  void watch();

  int64_t number_;
  std::string peer_;
  HttpConnectionDelegate& delegate_;
  Mode mode_ = Mode::kRequest;
  HttpParser parser_;
  HttpRequest request_;
  std::unique_ptr<wire::TlsSession> tls_;
  loop::ByteQueue output_;  // without TLS
  SentResponse rest_;       // of a file that is being sent: the bytes that are not read yet
  bool has_bytes_ = false;
  bool has_answered_ = false;
  double deadline_s_;  // of the work at hand: a request, or bytes to send
  loop::Poll poll_;
};

}  // namespace rtrain::http
