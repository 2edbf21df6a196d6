// host/engine/distributed/shm/messages.h: bytes from one rank to another one: send and receive.
//
// Messages of two ranks go through their ring in the order of the calls, as far as there is room in
// it. A receiver chooses by tag: what comes before the message with its tag waits in its memory.
// Nothing is taken from a ring while no call receives from it, so a sender that is ahead
// waits. Of two that want the same, the earlier one gets the earlier message.
//
// Any thread. Who waits moves whatever can be moved; a thread of its own does it for those who do
// not wait. Errors are those of ShmSegment::wait; Error(kArgument) for a message of another size.
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

namespace rtrain {

// A send or a receive that is under way.
class ShmMessage {
 public:
  // Of whoever has sent it; for a receive that has ended.
  int sender() const { return peer_; }

 private:
  friend class ShmMessages;
  using Clock = std::chrono::steady_clock;

  int peer_ = -1;  // below 0: any rank
  int tag_ = 0;
  std::span<std::byte> data_;
  std::shared_ptr<const void> owner_;
  Clock::time_point deadline_;
  size_t moved_ = 0;  // of a send, with its header
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

  // `owner` keeps the bytes until the message has ended, also where no call waits for it; those
  // that are sent are not changed until then.
  MessagePtr send(Bytes data, int to, int tag, std::shared_ptr<const void> owner);
  // `from` below 0: of any other rank.
  MessagePtr receive(Bytes data, int from, int tag, std::shared_ptr<const void> owner);
  bool has_ended(const ShmMessage& message);
  // Until it has ended. Throws what it has failed of.
  void wait(const ShmMessage& message);
  // From now on a thread moves the messages that no call waits for.
  void move_on_thread();
  // What is under way fails, and whatever is called later.
  void close();

 private:
  struct Header {
    uint64_t bytes = 0;
    int64_t tag = 0;
  };
  // A message that came before the one that is wanted, and who has asked for it while it came.
  struct Early {
    int tag = 0;
    std::vector<std::byte> data;
    bool is_complete = false;
    MessagePtr receiver;
  };
  // What is coming from a rank.
  struct Incoming {
    Header header;
    size_t moved = 0;  // with the header
    MessagePtr receiver;
    bool is_dropped = false;  // the receiver could not take it
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
  std::deque<MessagePtr> receivers_;              // that no message has come for
  std::exception_ptr failure_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace rtrain
