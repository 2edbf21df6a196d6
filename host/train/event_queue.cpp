#include "host/train/event_queue.h"

#include <chrono>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr size_t kMaxOutputWaiting = 10000;
constexpr size_t kMaxOutputBytes = size_t{4} << 20;

Value dropped_notice(size_t count) {
  return Map{{"type", "notice"},
             {"level", "warning"},
             {"time", now_ms()},
             {"text", cat(count, " lines of output are not shown here; the run's logs have them")}};
}

}  // namespace

void EventQueue::add(Value event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back({std::move(event)});
  }
  changed_.notify_one();
}

void EventQueue::add_output(Value event, size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (events_.size() >= kMaxOutputWaiting || output_bytes_ >= kMaxOutputBytes) {
      ++dropped_;
      return;
    }
    if (dropped_ > 0) events_.push_back({dropped_notice(std::exchange(dropped_, 0))});
    events_.push_back({std::move(event), bytes});
    output_bytes_ += bytes;
  }
  changed_.notify_one();
}

std::optional<Value> EventQueue::next(double timeout_s) {
  std::unique_lock lock(mutex_);
  const auto timeout = std::chrono::duration<double>(timeout_s);
  if (!changed_.wait_for(lock, timeout, [this] { return !events_.empty(); })) return std::nullopt;
  Waiting next = std::move(events_.front());
  events_.pop_front();
  output_bytes_ -= next.output_bytes;
  return std::move(next.event);
}

}  // namespace rtrain
