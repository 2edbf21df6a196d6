// host/http/http_connection.h: one client of a port. It reads requests and sends an answer to each,
// or a stream of events.
//
// Belongs to the loop's thread. It reads no request while one is being answered. Time and memory
// are bounded: a file is read as it is sent, a request must be complete, and an answer read by the
// peer, within some seconds; at most kMaxBacklog bytes of events wait for a slow reader. With a
// TlsSession all bytes pass through it.
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
  // Call answer() or begin_events() for it, at once or later.
  virtual void on_request(HttpConnection& connection, HttpRequest request) = 0;
};

class HttpConnection {
 public:
  // The socket must be non-blocking.
  HttpConnection(loop::Loop& loop, int64_t number, Fd socket, HttpConnectionDelegate& delegate,
                 std::unique_ptr<wire::TlsSession> tls = nullptr);

  int64_t number() const { return number_; }
  // The request that is being answered.
  const HttpRequest& request() const { return request_; }

  // Sends the answer. Then the next request may arrive, or the connection ends.
  void answer(HttpResponse response);
  // Sends the head of an answer. Events follow, without an end.
  void begin_events();
  void add_events(std::string_view events);
  // Ends the connection when the peer has received all events.
  void end_events();
  // Whether the peer reads too slowly, so that more events would only wait.
  bool is_behind();

  bool is_closed() const { return poll_.fd() < 0; }
  // Whether it waits for a request: then it may be closed in favour of a new connection.
  bool is_idle() const { return mode_ == Mode::kRequest; }
  void close();
  // Closes it after its time limit.
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
  // Takes the next bytes of the file's rest. Returns false if there are none, or none now.
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
  loop::ByteQueue output_;  // before TLS encrypts them
  SentResponse rest_;       // the bytes of a file that were not read yet
  bool has_bytes_ = false;
  bool has_answered_ = false;
  double deadline_s_;  // of the present step: to read a request, or to send bytes
  loop::Poll poll_;
};

}  // namespace rtrain::http
