// host/engine/data/packet_channel.h: trees to and from another process of this machine.
//
// A message is one packet of a socket pair (SOCK_SEQPACKET). A small one has its bytes in the
// packet. A larger one is a memory file, whose descriptor the packet carries: its pages are mapped
// by the receiver, not copied.
#pragma once

#include "host/engine/data/tree_channel.h"

namespace rtrain {

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

}  // namespace rtrain
