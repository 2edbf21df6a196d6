// host/engine/data/packet_channel.h: sends trees to and receives them from another process of this
// machine.
//
// A message is one packet of a socket pair (SOCK_SEQPACKET). A small message is in the packet
// itself. A larger one is in a memory file, whose descriptor the packet carries; the receiver maps
// the file instead of copying it.
#pragma once

#include "host/engine/data/tree_channel.h"

namespace rtrain::engine {

class PackedTree;

class PacketChannel : public TreeChannel {
 public:
  explicit PacketChannel(Fd socket) : fd_(std::move(socket)) {}

  std::optional<size_t> send(const Tree& tree, std::chrono::milliseconds timeout) override;
  Received receive(std::chrono::milliseconds timeout) override;

 private:
  bool send_packed(const PackedTree& packed, std::chrono::milliseconds timeout);

  Fd fd_;
};

}  // namespace rtrain::engine
