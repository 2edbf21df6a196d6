// host/wire/tls_tunnel.h: a stream of bytes to a process on another node, as a local socket: a
// thread carries what is written there over TLS, and back.
//
// One side listens, the other one connects; both prove that they have the same key. Where that
// fails, takes longer than its time, or the other node is not heard of any more, the local socket
// is closed, as when the far process has closed its own. Any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "host/base/files/fd.h"
#include "host/wire/wire_key.h"

namespace rtrain::wire {

class TlsTunnel {
 public:
  // Listens at that numeric address of this node, on a free port, for one peer. Throws
  // Error(kEnvironment).
  static std::unique_ptr<TlsTunnel> listen(const std::string& address, WireKey key,
                                           std::chrono::milliseconds timeout);
  // Throws Error(kArgument) for an address that is not numeric, Error(kEnvironment).
  static std::unique_ptr<TlsTunnel> connect(const std::string& address, int port, WireKey key,
                                            std::chrono::milliseconds timeout);
  // Closes both ends.
  ~TlsTunnel();
  TlsTunnel(const TlsTunnel&) = delete;
  TlsTunnel& operator=(const TlsTunnel&) = delete;

  // Where it listens.
  int port() const { return port_; }
  // The near end (SOCK_STREAM), once: the caller owns it. What is written there before the other
  // side has come waits.
  int take_socket() { return near_.release(); }

 private:
  TlsTunnel(Fd socket, bool is_server, WireKey key, std::chrono::milliseconds timeout);

  Fd near_;
  Fd wake_;  // closed at the end
  int port_ = 0;
  std::thread thread_;
};

}  // namespace rtrain::wire
