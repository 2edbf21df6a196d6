// host/wire/link.h: an ordered, reliable sequence of frames in both directions between two
// processes, which outlives its connections.
//
// Each frame that is sent has a number. Frames that the other side has not acknowledged are kept,
// and sent again after a new connection: nothing is lost, nothing comes twice, nothing out of
// order. A WireServer or a WireClient brings the connections: the client's side connects again by
// itself, the server's side waits for that.
//
// Belongs to the loop's thread. send() never waits; all that is sent in one turn of the loop goes
// out together. No callback may destroy the link; send(), finish() and close() are allowed.
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
  size_t memory_bytes = size_t{16} << 20;  // of unacknowledged frames, before is_full()
  std::chrono::milliseconds heartbeat{1000};
  // A connection on which nothing has come for that long is given up. The link itself lives on.
  std::chrono::milliseconds silence{5000};
};

// How a link ended for good.
struct LinkEnd {
  enum class Kind {
    kFinished,     // the other side has called finish(), and all that it sent has arrived
    kRefused,      // a client: the server does not accept it; `text` is the server's reason
    kUnreachable,  // a client: no first connection within its time; `text` says what was tried
    kBroken,       // the two sides do not fit together: one of them has lost frames
  };
  Kind kind;
  std::string text;
};

class LinkDelegate {
 public:
  virtual ~LinkDelegate() = default;
  // The next frame of the other side. It is acknowledged when this returns.
  virtual void on_frame(std::string_view payload) = 0;
  // Each connection begins and ends with these two.
  virtual void on_connected() = 0;
  virtual void on_disconnected(const std::string& reason) = 0;
  // Before on_connected(): the process at the other end is another one than before, and knows
  // nothing of what that one received. What that one did not acknowledge is sent to the new one,
  // unless Link::drop_unacknowledged() is called here.
  virtual void on_peer_restarted() = 0;
  // is_full() has become true, or false again.
  virtual void on_full(bool is_full) = 0;
  // Nothing comes after it, and nothing is sent.
  virtual void on_end(const LinkEnd& end) = 0;
};

// Wide, because it has two users: who sends frames, and the server or client that brings
// connections.
class Link : private ConnectionDelegate {
 public:
  // `name`: what both sides call it; the client chooses it and a server finds its link by it.
  Link(loop::Loop& loop, std::string name, const LinkOptions& options, LinkDelegate& delegate);
  ~Link() override;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  const std::string& name() const { return name_; }

  // Whether there is a connection or not: the frame is kept until it is acknowledged. Nothing after
  // finish(), close() or the end. Throws Error(kArgument) above kMaxPayloadBytes.
  void send(std::string_view payload);
  // More is unacknowledged than the bound allows: hold the sources back until on_full(false).
  bool is_full() const { return sequence_.queue().is_full(); }
  // Why, for a message.
  const std::string& full_reason() const { return sequence_.queue().full_reason(); }
  // Does not send again frames that are not acknowledged yet.
  void drop_unacknowledged();

  bool is_connected() const { return connection_ != nullptr && connection_->is_open(); }
  // How long nothing has been heard of the other side, suspension of this machine included; since
  // the construction when nothing ever was.
  double silent_s() const;
  // Addresses of the last connection; empty before the first.
  const SocketAddress& near() const { return near_; }
  const SocketAddress& far() const { return far_; }

  // Sends nothing more. `done` gets the number of frames that were not acknowledged: 0 as soon as
  // all are, or what is left at the deadline. Then the link is closed.
  using OnFinished = std::function<void(uint64_t unacknowledged)>;
  void finish(std::chrono::milliseconds timeout, OnFinished done);
  // Ends the connection at once; no callback comes after it, and no other connection.
  void close();
  bool is_closed() const { return closed_; }

  // From here on for WireServer and WireClient.

  // What this side says about itself when a connection begins.
  LinkPosition position() const;
  // Compares with what the other side says. Text: the two do not fit together.
  std::optional<std::string> accept(const LinkPosition& peer);
  // The connection, greeted on both sides, is the link's from here on; an older one is closed.
  // REQUIRES: accept() before, and position() said to the other side after that.
  void attach(std::unique_ptr<Connection> connection);
  // Called when a connection is wanted again.
  void set_redial(std::function<void()> redial) { redial_ = std::move(redial); }
  // Ends the link with that.
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
  uint64_t acked_ = 0;        // the last that this side has acknowledged
  size_t unacked_bytes_ = 0;  // received since then
  std::string control_;       // frames other than data, to be sent
  bool closed_ = false;
  bool finish_sent_ = false;    // on this connection
  bool peer_finished_ = false;  // it sends nothing more
  OnFinished on_finished_;      // finish() was called

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
