#include "host/wire/link.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::wire {
namespace {

// Frames are acknowledged after this many bytes or frames, or after this time.
constexpr size_t kBytesAnAck = size_t{256} << 10;
constexpr uint64_t kFramesAnAck = 64;
constexpr std::chrono::milliseconds kAckDelay{250};
// Small frames are encrypted together, up to this size.
constexpr size_t kBatchBytes = size_t{16} << 10;

constexpr double kNsPerS = 1e9;

uint64_t boot_ns() { return static_cast<uint64_t>(boot_s() * kNsPerS); }

[[noreturn]] void bad_frame(const std::string& what) { throw Error(Code::kArgument, what); }

}  // namespace

Link::Link(loop::Loop& loop, std::string name, const LinkOptions& options, LinkDelegate& delegate)
    : loop_(loop),
      name_(std::move(name)),
      options_(options),
      delegate_(delegate),
      sequence_(options.memory_bytes, [this] { delegate_.on_full(is_full()); }),
      begun_at_s_(boot_s()),
      turn_end_(loop, [this] { pump(); }),
      ack_timer_(loop, [this] { pump(); }),
      beat_timer_(loop, [this] { on_beat(); }) {}

Link::~Link() { close(); }

void Link::send(std::string_view payload) {
  if (closed_ || on_finished_) return;
  sequence_.queue().add(payload);
  turn_end_.ask();
}

void Link::drop_unacknowledged() {
  const uint64_t dropped = sequence_.drop_unacknowledged();
  if (is_connected()) control(WireType::kSkip, dropped);
  turn_end_.ask();
}

double Link::silent_s() const {
  return boot_s() - (connection_ ? connection_->heard_at_s() : begun_at_s_);
}

void Link::finish(std::chrono::milliseconds timeout, OnFinished done) {
  RT_CHECK(!on_finished_);
  on_finished_ = std::move(done);
  finish_timer_.emplace(loop_, [this] { complete_finish(); });
  finish_timer_->start(closed_ ? std::chrono::milliseconds(0) : timeout);
  // The other side answers a ping with an acknowledgement of all frames that have come.
  if (is_connected() && !sequence_.queue().is_empty()) control(WireType::kPing, boot_ns());
  turn_end_.ask();
}

void Link::close() {
  shut();
  if (connection_) connection_->close();
}

void Link::shut() {
  closed_ = true;
  ack_timer_.stop();
  beat_timer_.stop();
}

LinkPosition Link::position() const { return sequence_.position(); }

std::optional<std::string> Link::accept(const LinkPosition& peer) {
  const auto misfit = sequence_.accept(peer);
  if (!misfit) return std::nullopt;
  return cat("the two ends of link '", name_, "' do not fit: ", *misfit);
}

void Link::attach(std::unique_ptr<Connection> connection) {
  if (is_connected()) disconnect("the other side has opened a new connection");
  if (closed_) return connection->close();
  connection_ = std::move(connection);
  connection_->set_delegate(*this);
  near_ = connection_->near();
  far_ = connection_->far();
  control_.clear();
  finish_sent_ = false;
  acked_ = sequence_.received();
  unacked_bytes_ = 0;
  const auto [is_other_process, skip] = sequence_.begin_connection();
  if (skip > 0) control(WireType::kSkip, skip);
  if (is_other_process) delegate_.on_peer_restarted();
  on_beat();
  delegate_.on_connected();
}

void Link::end(const LinkEnd& end) {
  if (closed_) return;
  shut();
  if (on_finished_) return complete_finish();
  delegate_.on_end(end);
}

void Link::on_body(std::string_view body) {
  const WireFrame frame = WireFrame::parse(body);
  switch (frame.type) {
    case WireType::kData:
      return on_data(frame);
    case WireType::kAck:
      return on_ack(frame.number);
    case WireType::kSkip:
      return sequence_.on_skip(frame.number);
    case WireType::kPing:
      control(WireType::kPong, frame.number);
      return turn_end_.ask();
    case WireType::kPong:
      return;  // the other side lives
    case WireType::kFinish:
      return on_finish(frame.number);
    case WireType::kFinished:
      return complete_finish();
    default:
      bad_frame("a greeting in the middle of a link");
  }
}

void Link::on_data(const WireFrame& frame) {
  sequence_.on_data(frame.number);
  unacked_bytes_ += frame.payload.size();
  delegate_.on_frame(frame.payload);
  if (closed_) return;
  if (unacked_bytes_ >= kBytesAnAck || frame.number - acked_ >= kFramesAnAck) {
    turn_end_.ask();
  } else if (!ack_timer_.is_active()) {
    ack_timer_.start(kAckDelay);
  }
}

void Link::on_ack(uint64_t number) {
  sequence_.on_ack(number);
  if (on_finished_ || sequence_.queue().has_unsent()) turn_end_.ask();
}

void Link::on_finish(uint64_t last) {
  sequence_.on_finish(last);
  peer_finished_ = true;
  turn_end_.ask();
}

void Link::on_beat() {
  const double now_s = monotonic_s();
  // When this process was stopped for a while, bytes of the other side may still be unread.
  const bool is_late = beat_due_s_ > 0 && stood_still(beat_due_s_, now_s);
  if (is_connected() && !is_late && to_ms(silent_s()) > options_.silence) {
    return disconnect(cat("nothing was heard for ", format_double(silent_s()), " s"));
  }
  if (!is_connected()) return;
  connection_->release_buffers();
  control(WireType::kPing, boot_ns());
  turn_end_.ask();
  beat_due_s_ = now_s + std::chrono::duration<double>(options_.heartbeat).count();
  beat_timer_.start(options_.heartbeat);
}

void Link::control(WireType type, uint64_t number) {
  WireFrame{.type = type, .number = number}.add_to(control_);
}

void Link::add_ack() {
  ack_timer_.stop();
  if (acked_ == sequence_.received()) return;
  acked_ = sequence_.received();
  unacked_bytes_ = 0;
  control(WireType::kAck, acked_);
}

void Link::pump() {
  if (!is_connected()) return;
  add_ack();
  std::string batch = std::exchange(control_, {});
  for (const std::string* frame;
       connection_->is_writable() && (frame = sequence_.queue().next());) {
    const bool is_large = frame->size() >= kBatchBytes;
    if (is_large || batch.size() + frame->size() > kBatchBytes) {
      connection_->write(batch);
      batch.clear();
    }
    if (is_large) {
      connection_->write(*frame);
    } else {
      batch += *frame;
    }
    sequence_.queue().advance();
  }
  add_finish(batch);
  connection_->write(batch);
  connection_->flush();
  if (peer_finished_ && is_done()) end_finished();
}

// Where both sides call finish(), each waits first until its own frames are acknowledged.
bool Link::is_done() const { return !on_finished_ || sequence_.queue().is_empty(); }

void Link::add_finish(std::string& batch) {
  if (!is_done()) return;
  if (on_finished_ && !std::exchange(finish_sent_, true)) {
    WireFrame{.type = WireType::kFinish, .number = sequence_.queue().last()}.add_to(batch);
  }
  if (peer_finished_) WireFrame{.type = WireType::kFinished}.add_to(batch);
}

void Link::end_finished() {
  connection_->close_after_flush();
  end({.kind = LinkEnd::Kind::kFinished, .text = "the other side has finished"});
}

void Link::on_closed(const ConnectionEnd& end) { disconnect(end.text); }

void Link::disconnect(const std::string& reason) {
  connection_->close();
  beat_timer_.stop();
  ack_timer_.stop();
  if (closed_) return;
  delegate_.on_disconnected(reason);
  if (redial_ && !closed_) redial_();
}

void Link::complete_finish() {
  if (!on_finished_) return;
  finish_timer_->stop();
  const OnFinished done = std::exchange(on_finished_, nullptr);
  if (connection_ && !peer_finished_) connection_->close();
  shut();
  done(sequence_.queue().last() + 1 - sequence_.queue().first());
}

}  // namespace rtrain::wire
