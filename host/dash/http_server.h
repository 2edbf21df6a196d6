// host/dash/http_server.h: a port, its connections, and the threads that answer.
//
// Belongs to the loop's thread. What a request asks for is computed by a few threads, one after the
// other each, so that a long answer does not hold up the others; events by a thread of their own,
// and so what waits for a live run: one at a time on each of a few threads, else it is refused.
// What answers have used of memory goes back to the kernel when nobody has asked for a second.
// Connections are bounded: where all are in use, one that waits for a request gives up its own.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "host/dash/event_stream.h"
#include "host/dash/http_connection.h"
#include "host/loop/task_thread.h"
#include "host/loop/timer.h"
#include "host/wire/socket_address.h"
#include "host/wire/tls_certificate.h"

namespace rtrain {

// An answer: one document, or a stream of events.
struct HttpReply {
  HttpResponse response;
  std::shared_ptr<EventStream> events = nullptr;
};

inline HttpReply json_reply(const Value& document) { return {json_response(document)}; }

class HttpService {
 public:
  virtual ~HttpService() = default;
  // On the loop's thread, before anything is computed: why the request is refused. May rewrite its
  // path.
  virtual std::optional<HttpResponse> refuse(HttpRequest& request) = 0;
  // Whether the answer waits for somebody else. Any thread.
  virtual bool may_take_long(const HttpRequest& request) const = 0;
  // On any thread. Throws nothing.
  virtual HttpReply answer(const HttpRequest& request) = 0;
};

struct HttpServerOptions {
  std::string address = "127.0.0.1";  // numeric
  int port = 0;                       // 0: any that is free
  int more_ports = 0;                 // tried after `port` while that is taken
  size_t max_connections = 512;
  size_t max_streams = 128;
  std::shared_ptr<const TlsCertificate> certificate = nullptr;  // without: no TLS
};

class HttpServer : public HttpConnectionDelegate {
 public:
  // Listens from here on. Throws Error(kUsage) for an address that is not numeric,
  // Error(kEnvironment) when no port can be had.
  HttpServer(Loop& loop, const HttpServerOptions& options, HttpService& service);
  ~HttpServer() override;

  const SocketAddress& address() const { return address_; }

 private:
  struct Thread {
    explicit Thread(const char* name) : tasks(name) {}
    TaskThread tasks;
    size_t waiting = 0;  // tasks that were posted and have not come back
  };
  using Threads = std::list<Thread>;

  void on_request(HttpConnection& connection, HttpRequest request) override;
  void post(Thread& thread, int64_t number, HttpRequest request);
  void on_reply(int64_t number, HttpReply reply);
  void accept();
  bool make_place();
  void sweep();
  void give_back_memory(double now_s);
  void ask_streams();

  Loop& loop_;
  HttpServerOptions options_;
  HttpService& service_;
  SocketAddress address_;
  std::map<int64_t, std::unique_ptr<HttpConnection>> connections_;  // the oldest first
  std::map<int64_t, std::shared_ptr<EventStream>> streams_;         // by their connection
  int64_t last_number_ = 0;
  bool asking_ = false;     // the streams, on their thread
  double last_beat_s_ = 0;  // when all streams last got something
  double last_answer_s_ = 0;
  bool keeps_memory_ = false;  // of answers
  std::optional<Poll> listener_;
  Timer sweep_timer_;
  Timer stream_timer_;
  // Joined first: what they post to the loop then is not run.
  Threads answering_;
  Threads waiting_;
  TaskThread stream_thread_{"rtrain-events"};
};

}  // namespace rtrain
