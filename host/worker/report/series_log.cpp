#include "host/worker/report/series_log.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "host/base/clock.h"
#include "host/store/series/series_store.h"

namespace rtrain::worker {
namespace {

constexpr std::chrono::milliseconds kInterval{500};
// As many keys as fit on a line of the display.
constexpr size_t kShownKeys = 16;
// This many points are sent before the interval has passed.
constexpr size_t kManyPoints = SeriesLog::kMaxPoints / 8;

}  // namespace

SeriesLog::SeriesLog(loop::Loop& loop, loop::Channel& channel)
    : loop_(loop), channel_(channel), timer_(loop, [this] { send_all(); }) {}

void SeriesLog::add(std::span<const Entry> entries, std::optional<int64_t> step) {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    const int64_t at = step.value_or(next_step_);
    next_step_ = at + 1;
    for (const Entry& entry : entries) note(entry);
    wakes = put(entries, at);
  }
  if (wakes) wake();
}

void SeriesLog::add_own(std::span<const Entry> entries, int64_t step) {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    wakes = put(entries, step);
  }
  if (wakes) wake();
}

bool SeriesLog::put(std::span<const Entry> entries, int64_t step) {
  const int64_t time = now_ms();
  for (const Entry& entry : entries) {
    if (waiting_ >= kMaxPoints) {
      ++dropped_;
      continue;
    }
    auto found = series_.find(entry.key);
    if (found == series_.end()) found = series_.emplace(entry.key, Series{}).first;
    found->second.points.push_back({step, time, entry.value});
    ++waiting_;
  }
  const bool early = waiting_ >= kManyPoints && !is_early_;
  if (early) is_early_ = true;
  const bool wakes = early || !is_due_;
  is_due_ = true;
  return wakes;
}

void SeriesLog::wake() {
  loop_.post([this] {
    bool early = false;
    {
      const std::lock_guard lock(mutex_);
      early = is_early_;
    }
    if (early) return send_all();
    if (!timer_.is_active()) timer_.start(kInterval);
  });
}

// Sends one chunk of each key in turn, so that a key with many chunks does not delay the others.
void SeriesLog::send_all() {
  std::vector<std::string> keys;
  {
    const std::lock_guard lock(mutex_);
    is_early_ = false;
    for (const auto& [key, series] : series_) {
      if (series.points.size() > series.sent) keys.push_back(key);
    }
  }
  bool room = true;
  while (room && !keys.empty()) {
    std::vector<std::string> unfinished;
    for (const std::string& key : keys) {
      // Bytes that the socket has not accepted are in memory: it adds no more of them.
      room = channel_.flush(std::chrono::milliseconds(0)) == loop::Channel::Flushed::kAll;
      if (!room) break;
      if (send_chunk(key)) unfinished.push_back(key);
    }
    keys = std::move(unfinished);
  }
  if (room) send_dropped();
  if (room) send_newest();
  const std::lock_guard lock(mutex_);
  is_due_ = waiting_ > 0;
  if (is_due_) timer_.start(kInterval);
  changed_.notify_all();
}

// Sends the open chunk of the key. Returns whether there is another one after it.
bool SeriesLog::send_chunk(const std::string& key) {
  std::vector<store::SeriesPoint> points;
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    Series& series = series_.find(key)->second;
    const size_t count = std::min(series.points.size(), store::kMaxChunkPoints);
    points.assign(series.points.begin(),
                  series.points.begin() + static_cast<std::ptrdiff_t>(count));
    number = series.number;
  }
  if (!channel_.send(to_value(store::chunk_of(key, number, points)))) return false;
  const std::lock_guard lock(mutex_);
  Series& series = series_.find(key)->second;
  waiting_ -= points.size() - series.sent;
  series.sent = points.size();
  if (series.sent < store::kMaxChunkPoints) return false;
  series.points.erase(series.points.begin(),
                      series.points.begin() + static_cast<std::ptrdiff_t>(series.sent));
  series.sent = 0;
  ++series.number;
  return !series.points.empty();
}

// Under the lock.
void SeriesLog::note(const Entry& entry) {
  auto found = newest_.find(entry.key);
  if (found == newest_.end()) {
    if (newest_.size() == kShownKeys) return;
    found = newest_.emplace(entry.key, 0).first;
  }
  found->second = entry.value;
  is_news_ = true;
}

void SeriesLog::send_newest() {
  message::Logged logged;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_news_, false)) return;
    for (const auto& [name, value] : newest_) {
      logged.names.push_back(name);
      logged.values.push_back(value);
    }
  }
  channel_.send(to_value(std::move(logged)));
}

void SeriesLog::send_dropped() {
  int64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    std::swap(dropped, dropped_);
  }
  if (dropped > 0) channel_.send(to_value(message::SeriesDropped{.count = dropped}));
}

bool SeriesLog::flush(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(mutex_);
  while (waiting_ > 0 || dropped_ > 0) {
    loop_.post([this] { send_all(); });
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) return false;
    lock.unlock();
    channel_.flush(std::chrono::milliseconds(100));
    lock.lock();
  }
  return true;
}

}  // namespace rtrain::worker
