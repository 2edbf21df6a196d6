// host/engine/data/tree_channel.h: trees sent to another process of this machine and received from
// it.
//
// A message is one packet of a socket pair (SOCK_SEQPACKET). A small one has its bytes in the
// packet. A larger one is a memory file, whose descriptor the packet carries: its pages are mapped
// by the receiver, not copied. For one thread at each end.
#pragma once

#include <chrono>
#include <optional>

#include "host/base/fd.h"
#include "host/engine/files/tree.h"

namespace rtrain {

class PackedTree;

class TreeChannel {
 public:
  // Owns the descriptor.
  explicit TreeChannel(int fd) : fd_(fd) {}

  // The bytes that the message takes; nothing where the other process has closed its end. Waits
  // while the socket is full; throws Error(kTimeout) after that time, and Error(kEnvironment) where
  // there is no memory.
  std::optional<size_t> send(const Tree& tree, std::chrono::milliseconds timeout);

  struct Received {
    enum class Kind { kTree, kClosed, kTimeout } kind;
    Tree tree = {};
  };
  // Waits for a message. kClosed: the other process has closed its end, and all it had sent was
  // received.
  Received receive(std::chrono::milliseconds timeout);

 private:
  bool send_packed(const PackedTree& packed, std::chrono::milliseconds timeout);

  Fd fd_;
};

}  // namespace rtrain
