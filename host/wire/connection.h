// host/wire/connection.h: one TCP connection with TLS, which carries frames in both directions.
//
// Thread: the loop's; no method blocks. No callback may destroy the connection or move it in
// memory; it may call close() and set a new delegate.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "host/base/files/fd.h"
#include "host/loop/channel/frame.h"
#include "host/loop/poll.h"
#include "host/wire/socket_address.h"
#include "host/wire/tls_session.h"

namespace rtrain::wire {

// Why a connection ended.
struct ConnectionEnd {
  enum class Kind {
    kLost,       // closed by the other side or by the network
    kHandshake,  // `tls` says why
    kBadFrame,   // the peer has sent bytes that are not a frame
  };
  Kind kind = Kind::kLost;
  TlsFailure tls = TlsFailure::kNone;
  std::string text;
};

class ConnectionDelegate {
 public:
  virtual ~ConnectionDelegate() = default;
  // The peer has shown that it has the key: frames may be written.
  virtual void on_established() = 0;
  // Takes the body of the next frame. An Error(kArgument) from it ends the connection (kBadFrame).
  virtual void on_body(std::string_view body) = 0;
  // is_writable() is true again.
  virtual void on_writable() = 0;
  // The connection has ended. Called once, and not after close().
  virtual void on_closed(const ConnectionEnd& end) = 0;
};

class Connection {
 public:
  // The client's side of a connected socket.
  Connection(loop::Loop& loop, Fd socket, const WireKey& key, ConnectionDelegate& delegate);
  // The server's side.
  Connection(loop::Loop& loop, Fd socket, TlsSession::FindKey find_key,
             ConnectionDelegate& delegate);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void set_delegate(ConnectionDelegate& delegate) { delegate_ = &delegate; }

  // Encrypts whole frames. flush() sends as much as the socket accepts, and the loop sends the
  // rest. Does nothing after the end. REQUIRES: is_established().
  void write(std::string_view frames);
  void flush();
  // False while many bytes are unsent: a writer then waits for on_writable().
  bool is_writable() const;
  // Frees the memory of bytes that were sent and read. Called from time to time for idle
  // connections.
  void release_buffers();
  bool is_established() const { return tls_->is_established(); }
  bool is_open() const { return state_ == State::kOpen; }

  // Closes the connection at once. A second call does nothing.
  void close();
  // Reads no more, sends all written bytes and then closes this direction, so that the peer gets
  // all of them. The owner calls close() when it has waited long enough.
  void close_after_flush();
  // Whether close_after_flush() is complete: the peer has closed its direction too.
  bool is_closed() const { return state_ == State::kClosed; }

  // When bytes last came, by boot_s(); the time of construction when none have come.
  double heard_at_s() const { return heard_at_s_; }
  const SocketAddress& near() const { return near_; }
  const SocketAddress& far() const { return far_; }
  // The identity for which the peer uses its key.
  const std::string& identity() const { return tls_->identity(); }

 private:
  enum class State { kOpen, kClosing, kClosed };
  void start();
  void on_ready(int events);
  void read();
  void read_frames(std::string_view bytes);
  void discard_input();
  void end(ConnectionEnd end);
  void end_tls();

  ConnectionDelegate* delegate_;
  SocketAddress near_;
  SocketAddress far_;
  loop::Poll poll_;
  std::unique_ptr<TlsSession> tls_;
  loop::FrameReader frames_;
  State state_ = State::kOpen;
  bool is_stuck_ = false;  // on_writable() is due
  double heard_at_s_;
};

}  // namespace rtrain::wire
