#include "host/dash/http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/machine/memory_pressure.h"

namespace rtrain {
namespace {

constexpr int kBacklog = 1024;
constexpr int kAcceptsARound = 64;
// Of each kind.
constexpr int kNumThreads = 4;
constexpr std::chrono::milliseconds kBetweenSweeps{250};
constexpr std::chrono::milliseconds kBetweenEvents{100};
// A proxy ends a connection on which nothing comes.
constexpr double kBeatS = 15;

// Not open when the port is taken.
Fd try_listen(const SocketAddress& address) {
  Fd out(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool listens =
      ::bind(out.get(), address.get(), address.size()) == 0 && ::listen(out.get(), kBacklog) == 0;
  return listens ? std::move(out) : Fd();
}

Fd listen_at(const HttpServerOptions& options) {
  auto address = SocketAddress::parse(options.address, options.port);
  if (!address) {
    throw Error(Code::kUsage, cat("'", options.address, "' is not a numeric address to listen at"));
  }
  constexpr int kLastPort = 65535;
  const int first = options.port;
  const int last = first == 0 ? 0 : std::min(first + options.more_ports, kLastPort);
  for (int port = first; port <= last; ++port) {
    address->set_port(port);
    if (Fd out = try_listen(*address); out.is_open()) return out;
    if (errno != EADDRINUSE) break;
  }
  const int reason = errno;
  throw Error(Code::kEnvironment, cat("cannot listen at ", options.address, ", port ", first, ": ",
                                      std::string_view(std::strerror(reason))));
}

}  // namespace

HttpServer::HttpServer(Loop& loop, const HttpServerOptions& options, HttpService& service)
    : loop_(loop),
      options_(options),
      service_(service),
      sweep_timer_(loop, [this] { sweep(); }),
      stream_timer_(loop, [this] { ask_streams(); }) {
  for (int i = 0; i < kNumThreads; ++i) answering_.emplace_back("rtrain-answer");
  for (int i = 0; i < kNumThreads; ++i) waiting_.emplace_back("rtrain-asks");
  Fd listener = listen_at(options);
  address_ = SocketAddress::near(listener.get());
  listener_.emplace(loop, listener.release(), [this](int) { accept(); });
  listener_->start(UV_READABLE);
  sweep_timer_.start(kBetweenSweeps);
}

HttpServer::~HttpServer() = default;

void HttpServer::accept() {
  for (int i = 0; i < kAcceptsARound; ++i) {
    Fd socket(::accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      // Until a descriptor is free connections wait in the kernel's queue.
      if (errno == EMFILE || errno == ENFILE) listener_->stop();
      return;
    }
    if (!make_place()) continue;  // closed at once
    const int64_t number = ++last_number_;
    auto tls = options_.certificate ? options_.certificate->session() : nullptr;
    connections_.emplace(number, std::make_unique<HttpConnection>(loop_, number, std::move(socket),
                                                                  *this, std::move(tls)));
  }
}

// False: all connections are being answered.
bool HttpServer::make_place() {
  if (connections_.size() < options_.max_connections) return true;
  const auto idle = std::find_if(connections_.begin(), connections_.end(), [](const auto& entry) {
    return entry.second->is_closed() || entry.second->is_idle();
  });
  if (idle == connections_.end()) return false;
  streams_.erase(idle->first);
  connections_.erase(idle);
  return true;
}

void HttpServer::on_request(HttpConnection& connection, HttpRequest request) {
  if (auto refusal = service_.refuse(request)) return connection.answer(std::move(*refusal));
  const bool is_long = service_.may_take_long(request);
  Threads& threads = is_long ? waiting_ : answering_;
  const auto thread =
      std::min_element(threads.begin(), threads.end(),
                       [](const Thread& a, const Thread& b) { return a.waiting < b.waiting; });
  if (is_long && thread->waiting > 0) {
    return connection.answer(error_response(
        503, "busy", cat(waiting_.size(), " requests to live runs are under way: try again")));
  }
  post(*thread, connection.number(), std::move(request));
}

void HttpServer::post(Thread& thread, int64_t number, HttpRequest request) {
  ++thread.waiting;
  thread.tasks.post([this, &thread, number, request = std::move(request)] {
    auto reply = std::make_shared<HttpReply>(service_.answer(request));
    loop_.post([this, &thread, number, reply] {
      --thread.waiting;
      keeps_memory_ = true;
      last_answer_s_ = monotonic_s();
      on_reply(number, std::move(*reply));
    });
  });
}

void HttpServer::on_reply(int64_t number, HttpReply reply) {
  const auto found = connections_.find(number);
  if (found == connections_.end() || found->second->is_closed()) return;
  HttpConnection& connection = *found->second;
  if (!reply.events) return connection.answer(std::move(reply.response));
  if (streams_.size() >= options_.max_streams) {
    return connection.answer(error_response(
        503, "busy", cat("there are ", options_.max_streams, " viewers of live pages already")));
  }
  connection.begin_events();
  streams_.emplace(number, std::move(reply.events));
  if (!stream_timer_.is_active() && !asking_) stream_timer_.start(kBetweenEvents);
}

void HttpServer::sweep() {
  const double now_s = monotonic_s();
  for (auto& entry : connections_) entry.second->check_time(now_s);
  std::erase_if(connections_, [this](const auto& entry) {
    if (!entry.second->is_closed()) return false;
    streams_.erase(entry.first);
    return true;
  });
  listener_->start(UV_READABLE);
  give_back_memory(now_s);
  sweep_timer_.start(kBetweenSweeps);
}

void HttpServer::give_back_memory(double now_s) {
  constexpr double kQuietS = 1;
  if (!keeps_memory_ || now_s - last_answer_s_ < kQuietS) return;
  keeps_memory_ = false;
  give_back_cached_memory();
}

// All of them in one round on their thread; the next one when it is over.
void HttpServer::ask_streams() {
  using Asked = std::vector<std::pair<int64_t, std::shared_ptr<EventStream>>>;
  Asked asked;
  for (const auto& [number, stream] : streams_) {
    const auto found = connections_.find(number);
    if (found == connections_.end() || found->second->is_behind()) continue;
    asked.emplace_back(number, stream);
  }
  if (streams_.empty()) return;  // until the next one comes
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
        const auto found = connections_.find(number);
        if (found != connections_.end()) found->second->add_events(text);
      }
      for (const int64_t number : over) {
        streams_.erase(number);
        const auto found = connections_.find(number);
        if (found != connections_.end()) found->second->end_events();
      }
      stream_timer_.start(kBetweenEvents);
    });
  });
}

}  // namespace rtrain
