#include "host/train/run/event_queue.h"

#include <chrono>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/train/run/value_size.h"

namespace rtrain::train {
namespace {

constexpr size_t kMaxWaiting = 10000;

std::string dropped_text(size_t lines, size_t reports) {
  const std::string line_text = counted(lines, "line") + " of output";
  const std::string report_text = counted(reports, "report");
  const std::string_view are = lines + reports == 1 ? " is" : " are";
  if (reports == 0) return cat(line_text, are, " not shown here: see the run's logs");
  if (lines == 0) return cat(report_text, are, " not shown here: see `rtrain metrics`");
  return cat(line_text, " and ", report_text,
             " are not shown here: see the run's logs and `rtrain metrics`");
}

}  // namespace

void EventQueue::push(Value event, size_t bytes) {
  const size_t lines = std::exchange(dropped_lines_, 0);
  const size_t reports = std::exchange(dropped_reports_, 0);
  if (lines + reports > 0) {
    events_.push_back({Map{{"type", "notice"},
                           {"level", "warning"},
                           {"time", now_ms()},
                           {"text", dropped_text(lines, reports)}}});
  }
  events_.push_back({std::move(event), bytes});
  waiting_bytes_ += bytes;
  behind_ = behind_ || waiting_bytes_ > kMuch;
}

void EventQueue::add(Value event) {
  {
    const std::lock_guard lock(mutex_);
    push(std::move(event), 0);
  }
  changed_.notify_one();
}

void EventQueue::add_droppable(Value event, bool keep, size_t& dropped) {
  const size_t bytes = approximate_bytes(event);
  {
    const std::lock_guard lock(mutex_);
    is_dropping_ = is_dropping_ || events_.size() >= kMaxWaiting || waiting_bytes_ >= kMuch;
    if (!keep && is_dropping_) {
      ++dropped;
      return;
    }
    push(std::move(event), bytes);
  }
  changed_.notify_one();
}

void EventQueue::add_output(Value event) { add_droppable(std::move(event), false, dropped_lines_); }

void EventQueue::add_report(Value event) {
  add_droppable(std::move(event), options_.keeps_reports, dropped_reports_);
}

std::optional<Value> EventQueue::next(double timeout_s) {
  std::optional<Value> out;
  bool caught_up = false;
  {
    std::unique_lock lock(mutex_);
    const auto timeout = std::chrono::duration<double>(timeout_s);
    if (!changed_.wait_for(lock, timeout, [this] { return !events_.empty(); })) {
      return std::nullopt;
    }
    Waiting next = std::move(events_.front());
    events_.pop_front();
    waiting_bytes_ -= next.bytes;
    if (events_.size() <= kMaxWaiting / 2 && waiting_bytes_ <= kMuch / 2) is_dropping_ = false;
    caught_up = behind_ && waiting_bytes_ <= kMuch / 2;
    if (caught_up) behind_ = false;
    out = std::move(next.event);
  }
  if (caught_up && options_.on_caught_up) options_.on_caught_up();
  return out;
}

size_t EventQueue::waiting_bytes() const {
  const std::lock_guard lock(mutex_);
  return waiting_bytes_;
}

}  // namespace rtrain::train
