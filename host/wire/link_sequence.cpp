#include "host/wire/link_sequence.h"

#include <algorithm>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::wire {
namespace {

[[noreturn]] void bad_frame(const std::string& what) { throw Error(Code::kArgument, what); }

}  // namespace

LinkPosition LinkSequence::position() const {
  return {.stream = queue_.stream(),
          .first = static_cast<int64_t>(queue_.first()),
          .peer_stream = peer_stream_,
          .received = static_cast<int64_t>(received_),
          .dropped = static_cast<int64_t>(dropped_)};
}

std::optional<std::string> LinkSequence::accept(const LinkPosition& peer) {
  const auto first = static_cast<uint64_t>(peer.first);
  const auto received = static_cast<uint64_t>(peer.received);
  const bool knows_us = peer.peer_stream == queue_.stream();
  const bool is_known = peer.stream == peer_stream_;
  if (knows_us && (std::max(received, dropped_) + 1 < queue_.first() || received > queue_.last())) {
    return cat("one end has received ", received, " frames, the other has ", queue_.first(), " to ",
               queue_.last());
  }
  const uint64_t dropped = std::min(static_cast<uint64_t>(peer.dropped), first - 1);
  const uint64_t arrived = std::max(dropped, is_known ? received_ : first - 1);
  if (first > arrived + 1) {
    return cat("one end has received ", arrived, " frames, the other has none before ", first);
  }
  next_.is_other_process = (was_connected_ && !knows_us) || (!peer_stream_.empty() && !is_known);
  next_.skip = knows_us && received < dropped_ ? dropped_ : 0;
  if (knows_us) queue_.acknowledge(std::max(received, queue_.first() - 1));
  peer_stream_ = peer.stream;
  received_ = arrived;
  return std::nullopt;
}

LinkSequence::Begun LinkSequence::begin_connection() {
  was_connected_ = true;
  queue_.rewind();
  return std::exchange(next_, {});
}

uint64_t LinkSequence::drop_unacknowledged() {
  dropped_ = queue_.last();
  queue_.acknowledge(dropped_);
  return dropped_;
}

void LinkSequence::on_data(uint64_t number) {
  if (number != received_ + 1) bad_frame(cat("frame ", number, " behind frame ", received_));
  received_ = number;
}

void LinkSequence::on_ack(uint64_t number) {
  if (number > queue_.last()) {
    bad_frame(cat("an acknowledgement of frame ", number, ", which was not sent"));
  }
  if (number < queue_.first()) return;  // of a frame that was dropped meanwhile
  queue_.acknowledge(number);
}

void LinkSequence::on_skip(uint64_t number) {
  if (number < received_ || number > INT64_MAX) {
    bad_frame(cat("frames up to ", number, " dropped, behind frame ", received_));
  }
  received_ = number;
}

void LinkSequence::on_finish(uint64_t last) const {
  if (last != received_) bad_frame(cat("an end behind frame ", last, ", not ", received_));
}

}  // namespace rtrain::wire
