// host/engine/data/stream_channel.h: sends trees to and receives them from a process of
// another machine, over a byte stream (SOCK_STREAM).
//
// A message is its length, eight bytes in this machine's byte order, and the bytes of a
// PackedTree. A thread reads messages ahead while the owner works; both ends agree on how
// many.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "host/engine/data/tree_channel.h"

namespace rtrain::engine {

class StreamChannel : public TreeChannel {
 public:
  explicit StreamChannel(Fd socket);
  ~StreamChannel() override;

  // After kTimeout part of the message was sent, so the channel must not be used any more.
  std::optional<size_t> send(const Tree& tree, std::chrono::milliseconds timeout) override;
  // Throws Error(kEnvironment) if there is not enough memory for a message.
  Received receive(std::chrono::milliseconds timeout) override;

 private:
  struct Message {
    std::shared_ptr<char> bytes;
    size_t size = 0;
  };
  void read();
  bool read_message();
  bool fill(char* to, size_t size);

  Fd fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  bool is_closed_ = false;
  std::string problem_;  // why the channel is closed
  std::thread reader_;
};

}  // namespace rtrain::engine
