// host/loop/channel/frame_channel.h: frames over one end of a socket pair.
//
// Receiving belongs to the loop's thread; send() and flush() may be called by any thread. What the
// socket takes is written by the sender itself, the rest by the loop. Neither callback may destroy
// the channel; close() is allowed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "host/loop/loop.h"

namespace rtrain::loop {

class FrameChannel {
 public:
  // Throws Error for a body that makes no sense: the channel closes.
  using OnFrame = std::function<void(std::string body)>;
  // Called once, when the other end is closed ("") or has sent an invalid message (the reason).
  using OnClose = std::function<void(const std::string& reason)>;

  // Owns the descriptor from here on.
  FrameChannel(Loop& loop, int fd, OnFrame on_frame, OnClose on_close);
  ~FrameChannel();
  FrameChannel(const FrameChannel&) = delete;
  FrameChannel& operator=(const FrameChannel&) = delete;

  // False when the channel is closed. Throws Error(kArgument) when the body is above the frame cap.
  bool send(std::string_view body);
  enum class Flushed { kAll, kLate, kClosed };
  // Waits until everything sent has been handed to the kernel, so that it outlives this process;
  // kLate when the time passed before, kClosed when the channel did. Not for the loop's thread,
  // unless it waits for no time.
  Flushed flush(std::chrono::milliseconds timeout);
  // Reads and delivers all that has arrived by now, without waiting.
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
  OnFrame on_frame_;
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

}  // namespace rtrain::loop
