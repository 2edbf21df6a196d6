// host/wire/send_queue.h: what a link has to send: frames that are not yet acknowledged, and which
// of them goes out next.
//
// They are in memory up to a bound. With a spool they are on disk before they are sent, unless the
// disk does not accept them; what is above the bound is on disk alone, and read back when its turn
// comes.
//
//   first()                                              last()
//     | in memory (and spool) | in the spool alone | not yet written |
//
// Belongs to the loop's thread. Sequences run without a gap.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/loop/task_thread.h"
#include "host/loop/timer.h"
#include "host/wire/spool.h"

namespace rtrain {

struct SendQueueOptions {
  size_t memory_bytes = size_t{16} << 20;
  std::string spool_folder;  // "": memory alone
  uint64_t spool_bytes = uint64_t{1} << 30;
  std::chrono::milliseconds sync_interval{1000};
};

class SendQueue {
 public:
  // `on_change`: is_full() may be another one. Throws Error(kEnvironment) for a spool that cannot
  // be had.
  SendQueue(Loop& loop, SendQueueOptions options, std::function<void()> on_change);
  // Leaves in the spool what is not acknowledged.
  ~SendQueue();

  // Names this numbering; random. What a former process left in the spool has its numbers too.
  const std::string& stream() const { return stream_; }
  std::vector<FormerStream> former() const;
  // The lowest that is not acknowledged; last() + 1 when all are.
  uint64_t first() const { return first_; }
  // The highest that was added; 0 for none.
  uint64_t last() const { return spooled_ + unwritten_.size(); }
  bool is_empty() const { return first_ > last(); }
  bool has_unsent() const { return next_ <= last(); }

  // Throws Error(kArgument) above kMaxPayloadBytes.
  void add(std::string_view payload);
  // The other side has all up to that one. REQUIRES: first() - 1 <= sequence <= last().
  void acknowledge(uint64_t sequence);

  // Writes what is not yet in the spool; before next().
  void write();
  // The frame to send now, with its header; nothing when all have been sent, or when memory is full
  // of what is sent and not acknowledged. Valid until the next call of another function.
  const std::string* next();
  // It is sent.
  void advance() { ++next_; }
  // All that is not acknowledged is to be sent again.
  void rewind() { next_ = first_; }

  // Whoever adds should hold back; what is added nevertheless is kept, in memory. False again when
  // a quarter of the space is free.
  bool is_full() const { return !full_reason_.empty(); }
  // "the spool /x holds 1073741824 bytes", "cannot write /x/1.frames: No space left on device".
  const std::string& full_reason() const { return full_reason_; }

 private:
  uint64_t in_memory() const { return first_ + frames_.size() - 1; }  // all up to that one
  template <class Function>
  void take_unwritten(size_t count, Function&& function);
  void load();
  void start_sync_timer();
  void on_sync_due();
  void begin_sync();
  void update_full();
  std::string reason_for(bool was_full) const;

  Loop& loop_;
  SendQueueOptions options_;
  std::function<void()> on_change_;
  std::string stream_;
  std::unique_ptr<Spool> spool_;
  uint64_t first_ = 1;
  uint64_t next_ = 1;                   // to be sent
  uint64_t spooled_ = 0;                // all up to that one are in the spool, or in `frames_`
  std::deque<std::string> frames_;      // from first_ on
  std::vector<std::string> unwritten_;  // those behind spooled_
  size_t bytes_ = 0;                    // of frames_
  size_t unwritten_bytes_ = 0;
  std::string write_failure_;
  std::string sync_failure_;
  std::string full_reason_;

  bool is_syncing_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::optional<Timer> sync_timer_;  // with a spool
  std::unique_ptr<TaskThread> sync_thread_;
};

}  // namespace rtrain
