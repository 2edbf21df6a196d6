// host/worker/report/series_log.h: train.log in a worker: points gathered by key, sent as
// compressed chunks a few times a second. The newest values of the first keys travel with them, to
// be shown.
//
// add() never waits; any thread may call it, the sending belongs to the control thread. At most
// kMaxPoints wait: when the controller takes them slower than they come, points beyond that are
// dropped and counted, and the count is sent as soon as something can be. A killed worker takes
// what it has not sent with it, about half a second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/loop/channel/channel.h"
#include "host/loop/timer.h"
#include "host/lua/number_entries.h"
#include "host/store/series/series_chunk.h"

namespace rtrain::worker {

class SeriesLog {
 public:
  static constexpr size_t kMaxPoints = size_t{1} << 20;

  SeriesLog(loop::Loop& loop, loop::Channel& channel);

  using Entry = lua::NumberEntry;
  // One call of train.log. Without a step it is one more than the step before.
  void add(std::span<const Entry> entries, std::optional<int64_t> step);
  // Points of rtrain's own: not among the newest values that are shown, and their steps are not
  // those of train.log.
  void add_own(std::span<const Entry> entries, int64_t step);
  // Sends all there is; for the end. False when the controller does not take it in time.
  bool flush(std::chrono::milliseconds timeout);

 private:
  struct Series {
    std::deque<store::SeriesPoint> points;  // from the first one of the chunk `number` on
    int64_t number = 0;
    size_t sent = 0;  // of the points
  };
  // Under the lock. Whether the control thread is to be woken.
  bool put(std::span<const Entry> entries, int64_t step);
  void note(const Entry& entry);  // under the lock
  void wake();
  void send_newest();
  void send_all();
  bool send_chunk(const std::string& key);
  void send_dropped();

  loop::Loop& loop_;
  loop::Channel& channel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Series, std::less<>> series_;
  std::map<std::string, double, std::less<>> newest_;  // of the first keys, to be shown
  bool is_news_ = false;
  size_t waiting_ = 0;  // points that were never sent
  int64_t dropped_ = 0;
  int64_t next_step_ = 0;
  bool is_due_ = false;    // the timer is, or will be, armed
  bool is_early_ = false;  // send_all is posted, ahead of the timer
  loop::Timer timer_;
};

}  // namespace rtrain::worker
