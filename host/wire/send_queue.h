// host/wire/send_queue.h: the frames of a link that are not acknowledged yet, and which of them is
// sent next.
//
// Thread: the loop's. The numbers of the frames have no gaps.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace rtrain::wire {

class SendQueue {
 public:
  // `on_change` is called when is_full() has changed.
  SendQueue(size_t memory_bytes, std::function<void()> on_change);

  // The random name of this numbering.
  const std::string& stream() const { return stream_; }
  // The lowest number that is not acknowledged; last() + 1 when all are.
  uint64_t first() const { return first_; }
  // The highest number that was added; 0 when none was.
  uint64_t last() const { return first_ + frames_.size() - 1; }
  bool is_empty() const { return frames_.empty(); }
  bool has_unsent() const { return next_ <= last(); }

  // Throws Error(kArgument) above kMaxPayloadBytes.
  static void check_size(std::string_view payload);
  // Adds a frame. Throws as check_size().
  void add(std::string_view payload);
  // The other side has all frames up to this number. REQUIRES: first() - 1 <= sequence <= last().
  void acknowledge(uint64_t sequence);

  // The frame to send now, with its header; null when all have been sent. Valid until the next call
  // of another function.
  const std::string* next() const;
  // This frame was sent.
  void advance() { ++next_; }
  // All unacknowledged frames are to be sent again.
  void rewind() { next_ = first_; }

  // True when the limit is reached: the sender should wait, though further frames are kept too.
  // False again when a quarter of the limit is free.
  bool is_full() const { return !full_reason_.empty(); }
  const std::string& full_reason() const { return full_reason_; }

 private:
  void update_full();

  size_t memory_bytes_;
  std::function<void()> on_change_;
  std::string stream_;
  uint64_t first_ = 1;
  uint64_t next_ = 1;               // the next to send
  std::deque<std::string> frames_;  // from first_ on
  size_t bytes_ = 0;                // of these frames
  std::string full_reason_;
};

}  // namespace rtrain::wire
