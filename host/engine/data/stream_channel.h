// host/engine/data/stream_channel.h: trees to and from a process of another machine, over a stream
// of bytes (SOCK_STREAM).
//
// A message is its length, eight bytes in this machine's order, and the bytes of a PackedTree. A
// thread reads what comes while the owner does something else: how much that may be is agreed on by
// the two ends.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "host/engine/data/tree_channel.h"

namespace rtrain {

class StreamChannel : public TreeChannel {
 public:
  explicit StreamChannel(Fd socket);
  ~StreamChannel() override;

  // After kTimeout the message is there in part: the channel is of no more use.
  std::optional<size_t> send(const Tree& tree, std::chrono::milliseconds timeout) override;
  // Throws Error(kEnvironment) where there is no memory for a message.
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
  std::string problem_;  // why it is
  std::thread reader_;
};

}  // namespace rtrain
