// host/loop/channel/frame_channel.h: frames over one end of a socket pair.
//
// Receiving belongs to the loop's thread; any thread may call send() and flush(). The sender itself
// writes as much as the socket takes, and the loop writes the rest. Neither callback may destroy
// the channel, but it may call close().
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
  // It may throw an Error for an invalid body: then the channel closes.
  using OnFrame = std::function<void(std::string body)>;
  // Called once, when the other end has closed ("") or sent an invalid message (the reason).
  using OnClose = std::function<void(const std::string& reason)>;

  // Takes ownership of the descriptor.
  FrameChannel(Loop& loop, int fd, OnFrame on_frame, OnClose on_close);
  ~FrameChannel();
  FrameChannel(const FrameChannel&) = delete;
  FrameChannel& operator=(const FrameChannel&) = delete;

  // Returns false when the channel is closed. Throws Error(kArgument) for a body above the frame
  // cap.
  bool send(std::string_view body);
  enum class Flushed { kAll, kLate, kClosed };
  // Waits until the kernel has all sent bytes, so that they outlive this process. Returns kLate
  // when the time has passed before, kClosed when the channel has closed. Only with a time-out of 0
  // may the loop's thread call it.
  Flushed flush(std::chrono::milliseconds timeout);
  // Reads and delivers all frames that have arrived by now, without waiting.
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

// Makes a connected pair of stream sockets, both close-on-exec. Throws Error(kEnvironment).
struct SocketPair {
  int near;
  int far;
};
SocketPair make_socket_pair();

}  // namespace rtrain::loop
