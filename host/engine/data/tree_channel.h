// host/engine/data/tree_channel.h: sends trees to another process and receives them. One thread at
// each end.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "host/base/files/fd.h"
#include "host/engine/files/tree.h"

namespace rtrain::engine {

class TreeChannel {
 public:
  // A PacketChannel for a socket of packets, else a StreamChannel.
  static std::unique_ptr<TreeChannel> open(Fd socket);
  virtual ~TreeChannel() = default;

  // Returns the size of the message in bytes; nullopt if the other process has closed its end.
  // Waits while the socket is full. Throws Error(kTimeout) after `timeout`, and Error(kEnvironment)
  // if there is not enough memory.
  virtual std::optional<size_t> send(const Tree& tree, std::chrono::milliseconds timeout) = 0;

  struct Received {
    enum class Kind { kTree, kClosed, kTimeout } kind;
    Tree tree = {};
  };
  // Waits for a message. kClosed: the other process has closed its end, and everything it sent was
  // received.
  virtual Received receive(std::chrono::milliseconds timeout) = 0;
};

}  // namespace rtrain::engine
