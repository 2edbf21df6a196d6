#include "tests/sim/worlds/link_world.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostSteps = 400;
constexpr int kMostCalm = 4000;
constexpr size_t kMemory = 1 << 20;

}  // namespace

LinkWorld::LinkWorld(Draws& draws)
    : draws_(draws), may_restart_(draws.chance(0.4)), may_drop_(draws.chance(0.3)) {
  begin(kClient);
  begin(kServer);
}

void LinkWorld::live() {
  const int num_wild = draws_.below(kMostSteps);
  for (int i = 0; i < num_wild; ++i) step_on();
  is_calm_ = true;
  for (int i = 0; i < kMostCalm && !is_done(); ++i) step_on();
  demand(is_done(), "frames never arrive");
  for (int end : {kClient, kServer}) {
    const Sent& sent = sent_[end][ends_[end].life];
    demand(static_cast<int64_t>(sent.arrived.size() + sent.dropped.size()) >= ends_[end].num_sent,
           "a frame was acknowledged that has not come");
  }
  mark("all has come");
}

bool LinkWorld::is_done() const {
  return std::ranges::all_of(
      ends_, [](const End& end) { return end.is_greeted && end.sequence->queue().is_empty(); });
}

void LinkWorld::step_on() {
  if (is_calm_) {
    const int end = turn_++ % 2;
    if (end == kClient && !ends_[kClient].connection) dial();
    take(end);
    return pump(end);
  }
  const int end = draws_.below(2);
  switch (draws_.below(12)) {
    case 0:
      if (!connections_.empty()) lose_connection(connections_.size() - 1);
      return;
    case 1:
      if (may_restart_ && draws_.chance(0.1)) begin(end);
      return;
    case 2:
      if (may_drop_ && draws_.chance(0.3)) drop(end);
      return;
    case 3:
      if (!ends_[kClient].connection) dial();
      return;
    case 4:
    case 5:
      return send(end);
    case 6:
    case 7:
    case 8:
      return pump(end);
    default:
      return take(end);
  }
}

// Starts a new process at this end. The connections of the previous process break, but frames that
// it has sent may still arrive.
void LinkWorld::begin(int end) {
  tell([&] { return cat("process begins at end ", end); });
  End& it = ends_[end];
  if (it.life > 0) mark("a process began again");
  if (it.connection) lose_connection(*it.connection);
  if (end == kServer) {
    while (num_greeted_ < connections_.size()) lose_connection(num_greeted_++);
  }
  const int life = it.life + 1;
  it = {};
  it.sequence = std::make_unique<wire::LinkSequence>(kMemory, [] {});
  it.life = life;
}

void LinkWorld::dial() {
  tell([] { return "the client dials"; });
  ends_[kClient].connection = connections_.size();
  ends_[kClient].is_greeted = false;
  connections_.emplace_back();
  wire::LinkHello hello;
  hello.link = "agent";
  hello.position = ends_[kClient].sequence->position();
  write(kClient, {.type = wire::WireType::kHello, .payload = hello.encode()});
}

void LinkWorld::write(int from, const wire::WireFrame& frame) {
  Connection& connection = connections_[*ends_[from].connection];
  if (connection.is_broken) return;
  std::string bytes;
  frame.add_to(bytes);
  connection.coming[1 - from].push_back(bytes.substr(4));  // without the length prefix
}

void LinkWorld::send(int end) {
  End& it = ends_[end];
  const int64_t number = ++it.num_sent;
  tell([&] { return cat("end ", end, " sends ", number); });
  it.sequence->queue().add(cat(it.life, ":", number));
}

void LinkWorld::drop(int end) {
  End& it = ends_[end];
  tell([&] { return cat("end ", end, " drops what is not acknowledged"); });
  mark("dropped what waited");
  for (uint64_t i = it.sequence->queue().first(); i <= it.sequence->queue().last(); ++i) {
    sent_[end][it.life].dropped.insert(static_cast<int64_t>(i));
  }
  const uint64_t dropped = it.sequence->drop_unacknowledged();
  if (it.is_greeted) write(end, {.type = wire::WireType::kSkip, .number = dropped});
}

// Acknowledges frames and sends some that wait.
void LinkWorld::pump(int end) {
  End& it = ends_[end];
  if (!it.is_greeted) return;
  if (it.acked != it.sequence->received() && (is_calm_ || draws_.chance(0.5))) {
    it.acked = it.sequence->received();
    write(end, {.type = wire::WireType::kAck, .number = it.acked});
  }
  const int most = is_calm_ ? 1000 : draws_.below(4);
  for (int i = 0; i < most && it.sequence->queue().has_unsent(); ++i) {
    const Connection& connection = connections_[*it.connection];
    if (!connection.is_broken)
      connections_[*it.connection].coming[1 - end].push_back(
          it.sequence->queue().next()->substr(4));
    it.sequence->queue().advance();
  }
}

// Reads the next frame of a connection, or its end. The server also accepts new connections, in the
// order in which they were opened.
void LinkWorld::take(int end) {
  End& it = ends_[end];
  size_t number = it.connection.value_or(num_greeted_);
  if (end == kServer && num_greeted_ < connections_.size() && (is_calm_ || draws_.chance(0.5)))
    number = num_greeted_;
  if (number >= connections_.size()) return;
  Connection& connection = connections_[number];
  std::deque<std::string>& coming = connection.coming[end];
  if (coming.empty()) {
    if (!connection.is_broken) return;
    if (number == num_greeted_ && end == kServer) ++num_greeted_;  // it broke before its greeting
    if (it.connection == number) {
      it.connection.reset();
      it.is_greeted = false;
    }
    return;
  }
  const std::string body = coming.front();
  coming.pop_front();
  const wire::WireFrame frame = wire::WireFrame::parse(body);
  if (frame.type == wire::WireType::kHello)
    return greet(number, wire::LinkHello::decode(frame.payload));
  if (it.connection == number) handle(end, frame);
}

void LinkWorld::greet(size_t number, const wire::LinkHello& hello) {
  tell([&] { return cat("the server reads the greeting of connection ", number); });
  num_greeted_ = number + 1;
  const auto misfit = ends_[kServer].sequence->accept(hello.position);
  demand(!misfit, "the two ends do not fit");
  const wire::LinkWelcome answer{ends_[kServer].sequence->position()};
  std::string bytes;
  wire::WireFrame{.type = wire::WireType::kWelcome, .payload = answer.encode()}.add_to(bytes);
  if (!connections_[number].is_broken)
    connections_[number].coming[kClient].push_back(bytes.substr(4));
  attach(kServer, number);
}

void LinkWorld::welcome(const wire::LinkWelcome& welcome) {
  tell([] { return "the client reads the welcome"; });
  demand(!ends_[kClient].sequence->accept(welcome.position), "the two ends do not fit");
  attach(kClient, *ends_[kClient].connection);
}

void LinkWorld::attach(int end, size_t number) {
  End& it = ends_[end];
  if (it.connection && *it.connection != number) connections_[*it.connection].is_broken = true;
  it.connection = number;
  it.is_greeted = true;
  it.acked = it.sequence->received();
  const uint64_t skip = it.sequence->begin_connection().skip;
  if (skip > 0) write(end, {.type = wire::WireType::kSkip, .number = skip});
}

void LinkWorld::handle(int end, const wire::WireFrame& frame) {
  wire::LinkSequence& sequence = *ends_[end].sequence;
  switch (frame.type) {
    case wire::WireType::kWelcome:
      return welcome(wire::LinkWelcome::decode(frame.payload));
    case wire::WireType::kData:
      sequence.on_data(frame.number);
      return arrive(end, frame.payload);
    case wire::WireType::kAck:
      return sequence.on_ack(frame.number);
    case wire::WireType::kSkip:
      return sequence.on_skip(frame.number);
    default:
      demand(false, "a frame that nobody has sent");
  }
}

void LinkWorld::arrive(int end, std::string_view payload) {
  tell([&] { return cat("frame ", payload, " comes to end ", end); });
  const size_t colon = payload.find(':');
  const int life = std::stoi(std::string(payload.substr(0, colon)));
  const int64_t number = std::stoll(std::string(payload.substr(colon + 1)));
  demand(arrivals_.insert({end, ends_[end].life, life, number}).second, "a frame comes twice");
  Sent& sent = sent_[1 - end][life];
  sent.arrived.insert(number);
  for (int64_t before = 1; before < number; ++before) {
    demand(sent.arrived.contains(before) || sent.dropped.contains(before),
           "a frame is missing before another one");
  }
}

// Loses all frames in flight behind a random place, in both directions.
void LinkWorld::lose_connection(size_t number) {
  Connection& connection = connections_[number];
  if (connection.is_broken) return;
  tell([&] { return cat("connection ", number, " breaks"); });
  mark("a connection broke");
  connection.is_broken = true;
  for (std::deque<std::string>& coming : connection.coming) {
    const size_t left = static_cast<size_t>(draws_.below(static_cast<int>(coming.size()) + 1));
    coming.resize(left);
  }
}

}  // namespace rtrain::sim
