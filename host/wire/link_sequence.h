// host/wire/link_sequence.h: which frames of a link have gone out and which have come in, over all
// its connections. Pure.
//
// Frames that the other side has not acknowledged are kept, and sent again on a new connection.
// There both sides compare their positions first: neither sends a frame that the other has, nor
// leaves a gap.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/wire/send_queue.h"
#include "host/wire/wire_frame.h"

namespace rtrain::wire {

class LinkSequence {
 public:
  // `on_full`: queue().is_full() has become another one.
  LinkSequence(size_t memory_bytes, std::function<void()> on_full)
      : queue_(memory_bytes, std::move(on_full)) {}

  // The frames to be sent.
  SendQueue& queue() { return queue_; }
  const SendQueue& queue() const { return queue_; }
  // All up to that one have come.
  uint64_t received() const { return received_; }

  // What this side says about itself when a connection begins.
  LinkPosition position() const;
  // Compares with what the other side says. Text: the two do not fit together.
  std::optional<std::string> accept(const LinkPosition& peer);
  struct Begun {
    bool is_other_process = false;  // at the other end, than before
    uint64_t skip = 0;              // to be said first, as a kSkip: dropped since position()
  };
  // The connection is there: all that is not acknowledged goes out again. REQUIRES: accept()
  // before.
  Begun begin_connection();

  // Sends no more what is not acknowledged; the last number of that, for a kSkip.
  uint64_t drop_unacknowledged();

  // A frame of the other side. Each throws Error(kArgument) for a number that cannot come.
  void on_data(uint64_t number);
  void on_ack(uint64_t number);
  void on_skip(uint64_t number);
  void on_finish(uint64_t last) const;

 private:
  SendQueue queue_;
  std::string peer_stream_;
  uint64_t received_ = 0;
  uint64_t dropped_ = 0;  // of what this side sends: all up to that one are dropped
  bool was_connected_ = false;
  Begun next_;  // of the connection that accept() was for
};

}  // namespace rtrain::wire
