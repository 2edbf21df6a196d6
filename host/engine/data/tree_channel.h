// host/engine/data/tree_channel.h: trees sent to another process and received from it. For one
// thread at each end.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "host/base/files/fd.h"
#include "host/engine/files/tree.h"

namespace rtrain {

class TreeChannel {
 public:
  // A PacketChannel over a socket of packets, else a StreamChannel.
  static std::unique_ptr<TreeChannel> open(Fd socket);
  virtual ~TreeChannel() = default;

  // The bytes that the message takes; nothing where the other process has closed its end. Waits
  // while the socket is full; throws Error(kTimeout) after that time, and Error(kEnvironment) where
  // there is no memory.
  virtual std::optional<size_t> send(const Tree& tree, std::chrono::milliseconds timeout) = 0;

  struct Received {
    enum class Kind { kTree, kClosed, kTimeout } kind;
    Tree tree = {};
  };
  // Waits for a message. kClosed: the other process has closed its end, and all it had sent was
  // received.
  virtual Received receive(std::chrono::milliseconds timeout) = 0;
};

}  // namespace rtrain
