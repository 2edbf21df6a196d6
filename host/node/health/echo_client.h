// host/node/health/echo_client.h: exchanges bytes with an EchoServer of another host, and tells how
// many packets had to be sent a second time. Blocks, each call for no longer than its time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "host/base/files/fd.h"
#include "host/node/health/host_checks.h"

namespace rtrain {

class EchoClient {
 public:
  // Throws Error(kPeerLost): no process accepts the connection, or not within the time;
  // Error(kEnvironment) where this process has no descriptor, memory or port for it.
  EchoClient(const EchoAddress& peer, std::chrono::milliseconds timeout);

  // Sends that many bytes, a few of them as one packet: the kernel sends the last of several again
  // as soon as its acknowledgement takes longer than others did.
  void send(size_t bytes, std::chrono::milliseconds timeout);
  // Receives as many as were sent and have not been received: whether all have come within the
  // time. Throws Error(kPeerLost) for a connection that is closed.
  bool receive(std::chrono::milliseconds timeout);
  // Packets of this connection that the kernel has sent again.
  uint32_t num_sent_again() const;

 private:
  bool wait(short events, double until_s) const;
  void write(std::string_view bytes, double until_s);

  Fd socket_;
  std::string head_;  // what goes before the next request
  size_t expected_ = 0;
};

}  // namespace rtrain
