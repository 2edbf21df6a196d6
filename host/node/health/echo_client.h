// host/node/health/echo_client.h: exchanges bytes with an EchoServer of another node and reports
// how many packets were retransmitted. Blocks; each call has a time-out.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "host/base/files/fd.h"
#include "host/node/health/node_checks.h"

namespace rtrain::node {

class EchoClient {
 public:
  // Throws Error(kPeerLost) if no process accepts the connection in time, Error(kEnvironment) if
  // this process has no descriptor, memory or port for it.
  EchoClient(const EchoAddress& peer, std::chrono::milliseconds timeout);

  // Sends that many bytes. A small number is sent as one packet, because the kernel retransmits the
  // last of several packets as soon as its acknowledgement takes longer than the others'.
  void send(size_t bytes, std::chrono::milliseconds timeout);
  // Receives the bytes that were sent and not yet received. Returns whether all have arrived within
  // the time. Throws Error(kPeerLost) if the connection was closed.
  bool receive(std::chrono::milliseconds timeout);
  // Number of packets of this connection that the kernel has retransmitted.
  uint32_t num_sent_again() const;

 private:
  bool wait(short events, double until_s) const;
  void write(std::string_view bytes, double until_s);

  Fd socket_;
  std::string head_;  // sent before the next request
  size_t expected_ = 0;
};

}  // namespace rtrain::node
