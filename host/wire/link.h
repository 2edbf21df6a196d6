// host/wire/link.h: an ordered, reliable sequence of frames in both directions between two
// processes, which outlives its connections.
//
// Each frame has a number. The link keeps frames that the other side has not acknowledged, and
// sends them again on a new connection: no frame is lost, comes twice or comes out of order. A
// WireServer or a WireClient makes the connections: the client connects again by itself, the
// server waits for that.
//
// Thread: the loop's. send() never waits; frames of one turn of the loop are sent together. No
// callback may destroy the link; it may call send(), finish() and close().
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/loop/timer.h"
#include "host/loop/turn_end.h"
#include "host/wire/connection.h"
#include "host/wire/link_sequence.h"
#include "host/wire/wire_frame.h"

namespace rtrain::wire {

struct LinkOptions {
  size_t memory_bytes = size_t{16} << 20;  // of unacknowledged frames: above it is_full() is true
  std::chrono::milliseconds heartbeat{1000};
  // A connection on which no bytes have come for this time is closed. The link itself lives on.
  std::chrono::milliseconds silence{5000};
};

// How a link ended for good.
struct LinkEnd {
  enum class Kind {
    kFinished,     // the other side has called finish(), and all its frames have come
    kRefused,      // a client: the server does not accept it; `text` says why
    kUnreachable,  // a client: no first connection in time; `text` has the attempts
    kBroken,       // the two sides do not match: one of them has lost frames
  };
  Kind kind;
  std::string text;
};

class LinkDelegate {
 public:
  virtual ~LinkDelegate() = default;
  // Takes the next frame of the other side. It counts as received when this returns.
  virtual void on_frame(std::string_view payload) = 0;
  // A connection has begun; it has ended.
  virtual void on_connected() = 0;
  virtual void on_disconnected(const std::string& reason) = 0;
  // Called before on_connected() when the process at the other end has been replaced. The new one
  // has received no frames. It gets those that the old one did not acknowledge, unless this calls
  // Link::drop_unacknowledged().
  virtual void on_peer_restarted() = 0;
  // is_full() has changed.
  virtual void on_full(bool is_full) = 0;
  // The link has ended for good. No other callback follows, and no frame is sent any more.
  virtual void on_end(const LinkEnd& end) = 0;
};

// It has many methods, because it has two users: the code that sends frames, and the server or
// client that makes connections.
class Link : private ConnectionDelegate {
 public:
  // `name`: the client chooses it, and the server finds its own link by it.
  Link(loop::Loop& loop, std::string name, const LinkOptions& options, LinkDelegate& delegate);
  ~Link() override;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  const std::string& name() const { return name_; }

  // Sends a frame, now or on the next connection; it is kept until it is acknowledged. Does nothing
  // after finish(), close() or the end. Throws Error(kArgument) above kMaxPayloadBytes.
  void send(std::string_view payload);
  // Too many bytes are unacknowledged: the sender should wait until on_full(false).
  bool is_full() const { return sequence_.queue().is_full(); }
  // The reason of is_full(), for a message.
  const std::string& full_reason() const { return sequence_.queue().full_reason(); }
  // Drops all frames that are not acknowledged yet: they are not sent again.
  void drop_unacknowledged();

  bool is_connected() const { return connection_ != nullptr && connection_->is_open(); }
  // The time since the other side was last heard, or since construction. Includes the time for
  // which this machine was suspended.
  double silent_s() const;
  // Addresses of the last connection; empty before the first.
  const SocketAddress& near() const { return near_; }
  const SocketAddress& far() const { return far_; }

  // Accepts no more frames. Calls `done` with the number of unacknowledged frames: 0 as soon as all
  // are acknowledged, else at the deadline. Then the link is closed.
  using OnFinished = std::function<void(uint64_t unacknowledged)>;
  void finish(std::chrono::milliseconds timeout, OnFinished done);
  // Ends the connection at once. There is no callback and no other connection after it.
  void close();
  bool is_closed() const { return closed_; }

  // The methods below are for WireServer and WireClient.

  // The position that this side sends when a connection begins.
  LinkPosition position() const;
  // Takes the position of the other side. Returns a text where the two sides do not match.
  std::optional<std::string> accept(const LinkPosition& peer);
  // Takes over a connection on which both sides have said hello; closes an older one. REQUIRES:
  // accept() was called, and after that the other side has got position().
  void attach(std::unique_ptr<Connection> connection);
  // `redial` is called when the link needs another connection.
  void set_redial(std::function<void()> redial) { redial_ = std::move(redial); }
  // Ends the link, and calls LinkDelegate::on_end.
  void end(const LinkEnd& end);

 private:
  void on_established() override {}
  void on_body(std::string_view body) override;
  void on_writable() override { pump(); }
  void on_closed(const ConnectionEnd& end) override;

  void on_data(const WireFrame& frame);
  void on_ack(uint64_t number);
  void on_finish(uint64_t last);
  void on_beat();
  void control(WireType type, uint64_t number);
  void add_ack();
  void pump();
  bool is_done() const;
  void add_finish(std::string& batch);
  void end_finished();
  void shut();
  void disconnect(const std::string& reason);
  void complete_finish();

  loop::Loop& loop_;
  std::string name_;
  LinkOptions options_;
  LinkDelegate& delegate_;
  std::function<void()> redial_;

  LinkSequence sequence_;
  uint64_t acked_ = 0;        // the last frame that this side has acknowledged
  size_t unacked_bytes_ = 0;  // received since then
  std::string control_;       // frames other than data, to be sent
  bool closed_ = false;
  bool finish_sent_ = false;    // on this connection
  bool peer_finished_ = false;  // it sends no more frames
  OnFinished on_finished_;      // set once finish() was called

  SocketAddress near_;
  SocketAddress far_;
  std::unique_ptr<Connection> connection_;
  double begun_at_s_;  // boot_s()
  double beat_due_s_ = 0;

  loop::TurnEnd turn_end_;
  loop::Timer ack_timer_;
  loop::Timer beat_timer_;
  std::optional<loop::Timer> finish_timer_;
};

}  // namespace rtrain::wire
