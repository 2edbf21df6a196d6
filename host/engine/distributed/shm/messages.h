// host/engine/distributed/shm/messages.h: send and receive of bytes between two ranks.
//
// Each pair of ranks has a ring; messages pass it in the order of the calls, as far as it has
// space. A receiver selects by tag: earlier messages with other tags are kept in the receiver's
// memory. A rank only reads a ring while one of its calls receives from that sender, so a sender
// that is ahead waits. Two receives for the same tag get messages in the order of their calls.
//
// Any thread. A thread that waits moves all messages that can move; if no call waits, the class's
// own thread does. Throws like ShmSegment::wait; Error(kArgument) if a message has another size
// than its receive expects.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "host/engine/distributed/shm/segment.h"

namespace rtrain::engine {

// A send or a receive in progress.
class ShmMessage {
 public:
  // The sender's rank. REQUIRES: the receive has ended.
  int sender() const { return peer_; }

 private:
  friend class ShmMessages;
  using Clock = std::chrono::steady_clock;

  int peer_ = -1;  // below 0: any rank
  int tag_ = 0;
  std::span<std::byte> data_;
  std::shared_ptr<const void> owner_;
  Clock::time_point deadline_;
  size_t moved_ = 0;  // bytes of a send, with its header
  bool has_ended_ = false;
  std::exception_ptr failure_;
};

class ShmMessages {
 public:
  using Bytes = std::span<std::byte>;
  using MessagePtr = std::shared_ptr<ShmMessage>;

  ShmMessages(std::shared_ptr<ShmSegment> segment, std::chrono::milliseconds timeout);
  ~ShmMessages() { close(); }
  ShmMessages(const ShmMessages&) = delete;
  ShmMessages& operator=(const ShmMessages&) = delete;

  void set_timeout(std::chrono::milliseconds timeout);

  // `owner` keeps the bytes alive until the message has ended, even if no call waits for it. Bytes
  // to send must not change until then.
  MessagePtr send(Bytes data, int to, int tag, std::shared_ptr<const void> owner);
  // `from` below 0: from any other rank.
  MessagePtr receive(Bytes data, int from, int tag, std::shared_ptr<const void> owner);
  bool has_ended(const ShmMessage& message);
  // Waits until the message has ended, and throws its error.
  void wait(const ShmMessage& message);
  // Starts a thread that moves messages which no call waits for.
  void move_on_thread();
  // Makes all messages fail, those in progress and later ones.
  void close();

 private:
  struct Header {
    uint64_t bytes = 0;
    int64_t tag = 0;
  };
  // A message that arrived before its receive, and the receive that was called before it was
  // complete.
  struct Early {
    int tag = 0;
    std::vector<std::byte> data;
    bool is_complete = false;
    MessagePtr receiver;
  };
  // The message that is arriving from a rank.
  struct Incoming {
    Header header;
    size_t moved = 0;  // bytes, with the header
    MessagePtr receiver;
    bool is_dropped = false;  // its size differs from the receive's
    std::deque<std::unique_ptr<Early>> early;
  };

  MessagePtr begin(Bytes data, int peer, int tag, std::shared_ptr<const void> owner);
  void move();
  void move_outgoing(int to);
  void move_incoming(int from);
  bool is_wanted(int from) const;
  void choose_receiver(int from);
  bool take_early(const MessagePtr& receiver, int from);
  void complete(int from);
  size_t write(int to, const std::byte* data, size_t bytes);
  size_t read(int from, std::byte* data, size_t bytes);
  int awaited(const ShmMessage& message) const;
  static void end(ShmMessage& message, std::exception_ptr failure = nullptr);
  void fail_all(const std::exception_ptr& failure);
  MessagePtr first_under_way() const;
  void serve();

  std::shared_ptr<ShmSegment> segment_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::milliseconds timeout_;
  std::vector<std::deque<MessagePtr>> outgoing_;  // by rank
  std::vector<Incoming> incoming_;                // by rank
  std::deque<MessagePtr> receivers_;              // receives without a message yet
  std::exception_ptr failure_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace rtrain::engine
