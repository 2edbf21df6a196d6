// host/loop/channel.h: messages (a Value each, as MessagePack) over one end of a socket pair.
//
// Receiving belongs to the loop's thread; send() and flush() may be called by any thread. What the
// socket takes is written by the sender itself, the rest by the loop. Neither callback may destroy
// the channel; close() is allowed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "host/base/value.h"
#include "host/loop/loop.h"

namespace rtrain {

class Channel {
 public:
  using OnMessage = std::function<void(Value message)>;
  // Called once, when the other end is closed ("") or has sent what does not decode (the reason).
  using OnClose = std::function<void(const std::string& reason)>;

  // Owns the descriptor from here on.
  Channel(Loop& loop, int fd, OnMessage on_message, OnClose on_close);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // False when the channel is closed. Throws Error(kArgument) when the message is above the frame
  // cap.
  bool send(const Value& message);
  enum class Flushed { kAll, kLate, kClosed };
  // Waits until everything sent has been handed to the kernel, so that it outlives this process;
  // kLate when the time passed before, kClosed when the channel did. Not for the loop's thread,
  // unless it waits for no time.
  Flushed flush(std::chrono::milliseconds timeout);
  // Reads and delivers what has arrived by now, without waiting.
  void drain();
  // Stops both directions and closes the descriptor; on_close is not called. Calling it again does
  // nothing.
  void close();

 private:
  class Output;
  void on_ready(int events);
  void read(size_t most);
  void finish(const std::string& reason);

  Loop& loop_;
  OnMessage on_message_;
  OnClose on_close_;
  std::shared_ptr<Output> output_;
  struct Input;
  std::unique_ptr<Input> input_;
};

// A connected pair of stream sockets, both close-on-exec. Throws Error(kEnvironment).
struct SocketPair {
  int near;
  int far;
};
SocketPair make_socket_pair();

}  // namespace rtrain
