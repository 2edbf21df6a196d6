// host/wire/link_sequence.h: which frames of a link were sent and which were received, over all
// its connections. Pure.
//
// Frames that the other side has not acknowledged are kept, and sent again on a new connection.
// Such a connection begins with an exchange of positions: so no side sends a frame that the other
// one has, and none leaves a gap.
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
  // `on_full` is called when queue().is_full() has changed.
  LinkSequence(size_t memory_bytes, std::function<void()> on_full)
      : queue_(memory_bytes, std::move(on_full)) {}

  // The frames to send.
  SendQueue& queue() { return queue_; }
  const SendQueue& queue() const { return queue_; }
  // All frames of the other side up to this number have come.
  uint64_t received() const { return received_; }

  // The position that this side sends when a connection begins.
  LinkPosition position() const;
  // Takes the position of the other side. Returns a text where the two sides do not match.
  std::optional<std::string> accept(const LinkPosition& peer);
  struct Begun {
    bool is_other_process = false;  // the process at the other end was replaced
    uint64_t skip = 0;  // send a kSkip with this number first: frames dropped since position()
  };
  // The connection has begun: all unacknowledged frames are to be sent again. REQUIRES: accept()
  // was called.
  Begun begin_connection();

  // Drops all unacknowledged frames. Returns the number of the last one, for a kSkip.
  uint64_t drop_unacknowledged();

  // Frames of the other side. Each method throws Error(kArgument) for an impossible number.
  void on_data(uint64_t number);
  void on_ack(uint64_t number);
  void on_skip(uint64_t number);
  void on_finish(uint64_t last) const;

 private:
  SendQueue queue_;
  std::string peer_stream_;
  uint64_t received_ = 0;
  uint64_t dropped_ = 0;  // this side has dropped its frames up to this number
  bool was_connected_ = false;
  Begun next_;  // of the connection for which accept() was called
};

}  // namespace rtrain::wire
