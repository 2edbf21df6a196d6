// host/train/event_queue.h: events from the control thread to the thread that called fit().
//
// Lines of output are dropped (and counted) while the reader is far behind, in lines or in bytes:
// they are in the log.
// Everything else is kept.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "host/base/value.h"

namespace rtrain {

class EventQueue {
 public:
  void add(Value event);
  // An event that shows that many bytes of output.
  void add_output(Value event, size_t bytes);
  // The next event; nothing when none comes within the time.
  std::optional<Value> next(double timeout_s);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  struct Waiting {
    Value event;
    size_t output_bytes = 0;
  };
  std::deque<Waiting> events_;
  size_t output_bytes_ = 0;  // of all that wait
  size_t dropped_ = 0;
};

}  // namespace rtrain
