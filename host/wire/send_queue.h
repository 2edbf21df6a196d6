// host/wire/send_queue.h: the frames that a link has to send: those that are not yet acknowledged,
// and which of them goes out next.
//
// Belongs to the loop's thread. Sequences run without a gap.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace rtrain::wire {

class SendQueue {
 public:
  // `on_change`: is_full() has become another one.
  SendQueue(size_t memory_bytes, std::function<void()> on_change);

  // Names this numbering; random.
  const std::string& stream() const { return stream_; }
  // The lowest that is not acknowledged; last() + 1 when all are.
  uint64_t first() const { return first_; }
  // The highest that was added; 0 for none.
  uint64_t last() const { return first_ + frames_.size() - 1; }
  bool is_empty() const { return frames_.empty(); }
  bool has_unsent() const { return next_ <= last(); }

  // Throws Error(kArgument) above kMaxPayloadBytes.
  static void check_size(std::string_view payload);
  // Throws likewise.
  void add(std::string_view payload);
  // The other side has all up to that one. REQUIRES: first() - 1 <= sequence <= last().
  void acknowledge(uint64_t sequence);

  // The frame to send now, with its header; nothing when all have been sent. Valid until the next
  // call of another function.
  const std::string* next() const;
  // It is sent.
  void advance() { ++next_; }
  // All that is not acknowledged is to be sent again.
  void rewind() { next_ = first_; }

  // Whoever adds should hold back; what is added nevertheless is kept. False again when a quarter
  // of the bound is free.
  bool is_full() const { return !full_reason_.empty(); }
  const std::string& full_reason() const { return full_reason_; }

 private:
  void update_full();

  size_t memory_bytes_;
  std::function<void()> on_change_;
  std::string stream_;
  uint64_t first_ = 1;
  uint64_t next_ = 1;               // to be sent
  std::deque<std::string> frames_;  // from first_ on
  size_t bytes_ = 0;                // of them
  std::string full_reason_;
};

}  // namespace rtrain::wire
