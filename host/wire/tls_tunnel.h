// host/wire/tls_tunnel.h: a stream of bytes to a process on another node, as a local socket. A
// thread carries the bytes over TLS, in both directions.
//
// One side listens, the other one connects; each checks that the other has the same key. Where that
// fails or takes too long, or where the other node does not answer any more, the local socket is
// closed, as when the far process closes its socket. Thread: any.
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
  // Listens at this numeric address of this node, on a free port, for one peer. Throws
  // Error(kEnvironment).
  static std::unique_ptr<TlsTunnel> listen(const std::string& address, WireKey key,
                                           std::chrono::milliseconds timeout);
  // Connects. Throws Error(kArgument) for an address that is not numeric, and Error(kEnvironment).
  static std::unique_ptr<TlsTunnel> connect(const std::string& address, int port, WireKey key,
                                            std::chrono::milliseconds timeout);
  // Closes both ends.
  ~TlsTunnel();
  TlsTunnel(const TlsTunnel&) = delete;
  TlsTunnel& operator=(const TlsTunnel&) = delete;

  // The port at which it listens.
  int port() const { return port_; }
  // Returns the near end (SOCK_STREAM), once; the caller owns it. Bytes that are written to it
  // before the other side has connected wait.
  int take_socket() { return near_.release(); }

 private:
  TlsTunnel(Fd socket, bool is_server, WireKey key, std::chrono::milliseconds timeout);

  Fd near_;
  Fd wake_;  // closed at the end
  int port_ = 0;
  std::thread thread_;
};

}  // namespace rtrain::wire
