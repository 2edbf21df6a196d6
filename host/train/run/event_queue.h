// host/train/run/event_queue.h: events from the control thread to the thread that called fit().
//
// The reader may be slow: a stopped terminal, a long callback. Then lines of output are dropped and
// counted, because the run's logs have them, and reports too, because the store has them. If the
// user's code must see every report, reports are kept instead, and waiting_bytes() tells the sender
// to hold the ranks back. All other events are kept.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "host/base/value.h"

namespace rtrain::train {

class EventQueue {
 public:
  struct Options {
    bool keeps_reports = false;
    // Called on the reader's thread when it has caught up after more than kMuch bytes were waiting.
    std::function<void()> on_caught_up = {};
  };
  static constexpr size_t kMuch = size_t{4} << 20;

  EventQueue() = default;
  explicit EventQueue(Options options) : options_(std::move(options)) {}

  void add(Value event);
  // Adds an event with a line of output.
  void add_output(Value event);
  void add_report(Value event);
  // The next event; nullopt if none arrives within the time.
  std::optional<Value> next(double timeout_s);

  // Approximate size of the waiting lines and reports.
  size_t waiting_bytes() const;

 private:
  struct Waiting {
    Value event;
    size_t bytes = 0;  // for a line or report
  };
  void add_droppable(Value event, bool keep, size_t& dropped);
  void push(Value event, size_t bytes);

  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> events_;
  size_t waiting_bytes_ = 0;
  bool behind_ = false;
  bool is_dropping_ = false;  // until half are taken: few gaps, not many small ones
  size_t dropped_lines_ = 0;
  size_t dropped_reports_ = 0;
};

}  // namespace rtrain::train
