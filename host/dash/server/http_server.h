// host/dash/server/http_server.h: listens at a port, and answers its requests on several threads.
//
// Belongs to the loop's thread. A few threads compute answers, one at a time each, so that a long
// answer does not delay the others; viewers (an address, with or without the right to write) take
// turns for these threads. A thread of its own computes events. A few more compute answers that
// wait for a live run, one at a time each; if they are all busy, the request is refused. Memory
// that answers have used is returned to the kernel when no request has arrived for a second.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>

#include "host/dash/server/event_stream.h"
#include "host/dash/server/request_turns.h"
#include "host/http/http_port.h"
#include "host/http/http_response.h"
#include "host/loop/task_thread.h"
#include "host/loop/timer.h"

namespace rtrain::dash {

// An answer: one document, or a stream of events.
struct HttpReply {
  http::HttpResponse response;
  std::shared_ptr<EventStream> events = nullptr;
};

inline HttpReply json_reply(const Value& document) { return {http::json_response(document)}; }
inline HttpReply stream_reply(std::shared_ptr<EventStream> events) {
  HttpReply out;
  out.events = std::move(events);
  return out;
}

class HttpService {
 public:
  virtual ~HttpService() = default;
  // Returns why the request is refused, if it is. Called on the loop's thread before anything is
  // computed. May rewrite the request's path.
  virtual std::optional<http::HttpResponse> refuse(http::HttpRequest& request) = 0;
  // Whether the answer waits for another process. Any thread.
  virtual bool may_take_long(const http::HttpRequest& request) const = 0;
  // Computes the answer. Any thread. Never throws.
  virtual HttpReply answer(const http::HttpRequest& request) = 0;
};

class HttpServer : public http::HttpPortDelegate {
 public:
  static constexpr size_t kMaxStreams = 128;

  // Listens from here on. Throws what HttpPort throws.
  HttpServer(loop::Loop& loop, const http::HttpPortOptions& options, HttpService& service);
  ~HttpServer() override;

  const wire::SocketAddress& address() const { return port_.address(); }

 private:
  struct Thread {
    explicit Thread(const char* name) : tasks(name) {}
    loop::TaskThread tasks;
    bool is_busy = false;  // until the posted work has ended
  };
  using Threads = std::list<Thread>;

  void on_request(http::HttpConnection& connection, http::HttpRequest request) override;
  void on_closed(int64_t number) override;
  static Thread* free_of(Threads& threads);
  void answer_waiting();
  void post(Thread& thread, WaitingRequest request);
  void on_reply(int64_t number, HttpReply reply);
  void ask_streams();

  loop::Loop& loop_;
  HttpService& service_;
  std::map<int64_t, std::shared_ptr<EventStream>> streams_;  // by their connection's number
  bool asking_ = false;                                      // on the streams' thread
  double last_beat_s_ = 0;                                   // when all streams last got something
  http::HttpPort port_;
  loop::Timer stream_timer_;
  loop::Timer memory_timer_;
  RequestTurns turns_;
  // Destroyed first, so its threads are joined first: the loop does not run what they post then.
  Threads answering_;
  Threads waiting_;
  loop::TaskThread stream_thread_{"rtrain-events"};
};

}  // namespace rtrain::dash
