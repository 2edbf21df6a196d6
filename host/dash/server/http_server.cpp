#include "host/dash/server/http_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/machine/memory_pressure.h"

namespace rtrain::dash {
namespace {

// Of each kind of threads.
constexpr int kNumThreads = 4;
constexpr size_t kMostOfOne = kNumThreads - 1;
constexpr std::chrono::milliseconds kBetweenEvents{100};
// When no request has arrived for that long after an answer, its memory is freed.
constexpr std::chrono::milliseconds kQuiet{1000};
// A proxy ends a connection without traffic, so a stream sends something that often.
constexpr double kBeatS = 15;

}  // namespace

HttpServer::HttpServer(loop::Loop& loop, const http::HttpPortOptions& options, HttpService& service)
    : loop_(loop),
      service_(service),
      port_(loop, options, *this),
      stream_timer_(loop, [this] { ask_streams(); }),
      memory_timer_(loop, [] { machine::give_back_cached_memory(); }),
      turns_(kMostOfOne) {
  for (int i = 0; i < kNumThreads; ++i) answering_.emplace_back("rtrain-answer");
  for (int i = 0; i < kNumThreads; ++i) waiting_.emplace_back("rtrain-asks");
}

HttpServer::~HttpServer() = default;

void HttpServer::on_request(http::HttpConnection& connection, http::HttpRequest request) {
  if (auto refusal = service_.refuse(request)) return connection.answer(std::move(*refusal));
  std::string viewer = cat(request.peer, request.may_write ? " may write" : "");
  WaitingRequest waiting{.viewer = std::move(viewer),
                         .connection = connection.number(),
                         .request = std::move(request)};
  if (!service_.may_take_long(waiting.request)) {
    turns_.add(std::move(waiting));
    return answer_waiting();
  }
  Thread* const thread = free_of(waiting_);
  if (thread != nullptr) return post(*thread, std::move(waiting));
  connection.answer(http::error_response(
      503, "busy", cat(waiting_.size(), " requests to live runs are under way: try again")));
}

HttpServer::Thread* HttpServer::free_of(Threads& threads) {
  const auto found = std::find_if(threads.begin(), threads.end(),
                                  [](const Thread& thread) { return !thread.is_busy; });
  return found == threads.end() ? nullptr : &*found;
}

void HttpServer::answer_waiting() {
  while (Thread* const thread = free_of(answering_)) {
    auto waiting = turns_.next();
    if (!waiting) return;
    if (port_.find(waiting->connection) != nullptr) {
      post(*thread, *std::move(waiting));
    } else {
      turns_.end(waiting->viewer);  // its viewer has disconnected
    }
  }
}

void HttpServer::post(Thread& thread, WaitingRequest waiting) {
  thread.is_busy = true;
  thread.tasks.post([this, &thread, waiting = std::move(waiting)] {
    auto reply = std::make_shared<HttpReply>(service_.answer(waiting.request));
    const bool has_turn = !service_.may_take_long(waiting.request);
    machine::release_thread_cache();
    loop_.post(
        [this, &thread, number = waiting.connection, viewer = waiting.viewer, has_turn, reply] {
          thread.is_busy = false;
          if (has_turn) turns_.end(viewer);
          memory_timer_.start(kQuiet);
          on_reply(number, std::move(*reply));
          answer_waiting();
        });
  });
}

void HttpServer::on_reply(int64_t number, HttpReply reply) {
  http::HttpConnection* const connection = port_.find(number);
  if (connection == nullptr) return;
  if (!reply.events) return connection->answer(std::move(reply.response));
  if (streams_.size() >= kMaxStreams) {
    return connection->answer(http::error_response(
        503, "busy", cat("there are ", kMaxStreams, " viewers of live pages already")));
  }
  connection->begin_events();
  streams_.emplace(number, std::move(reply.events));
  if (!stream_timer_.is_active() && !asking_) stream_timer_.start(kBetweenEvents);
}

void HttpServer::on_closed(int64_t number) { streams_.erase(number); }

// Asks all streams in one round on their thread. The next round begins after this one.
void HttpServer::ask_streams() {
  using Asked = std::vector<std::pair<int64_t, std::shared_ptr<EventStream>>>;
  Asked asked;
  for (const auto& [number, stream] : streams_) {
    http::HttpConnection* const connection = port_.find(number);
    if (connection == nullptr || connection->is_behind()) continue;
    asked.emplace_back(number, stream);
  }
  if (streams_.empty()) return;  // the next stream starts the timer again
  const bool beat = monotonic_s() - last_beat_s_ > kBeatS;
  if (beat) last_beat_s_ = monotonic_s();
  asking_ = true;
  stream_thread_.post([this, asked = std::move(asked), beat] {
    std::vector<std::pair<int64_t, std::string>> texts;
    std::vector<int64_t> over;
    for (const auto& [number, stream] : asked) {
      std::string text = stream->next();
      if (beat && text.empty()) text = ":\n\n";
      if (!text.empty()) texts.emplace_back(number, std::move(text));
      if (stream->is_over()) over.push_back(number);
    }
    loop_.post([this, texts = std::move(texts), over = std::move(over)] {
      asking_ = false;
      for (const auto& [number, text] : texts) {
        if (auto* const connection = port_.find(number)) connection->add_events(text);
      }
      for (const int64_t number : over) {
        streams_.erase(number);
        if (auto* const connection = port_.find(number)) connection->end_events();
      }
      stream_timer_.start(kBetweenEvents);
    });
  });
}

}  // namespace rtrain::dash
