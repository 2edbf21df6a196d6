// host/worker/report/series_log.h: train.log in a worker: it collects points by key and sends them
// as compressed chunks a few times a second, with the newest values of the first keys for the
// display.
//
// Any thread may call add(), which never waits; the control thread sends. At most kMaxPoints points
// wait. When the controller reads too slowly, further points are dropped, and their number is sent
// as soon as the controller reads again. A killed worker loses the points of its last half second
// or so.
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
  // Adds one call of train.log. Without a step it gets the step before plus one.
  void add(std::span<const Entry> entries, std::optional<int64_t> step);
  // Adds points of rtrain's own. They are not shown among the newest values, and do not change the
  // next step of train.log.
  void add_own(std::span<const Entry> entries, int64_t step);
  // Sends all points, at the worker's end. Returns false when the controller does not read in time.
  bool flush(std::chrono::milliseconds timeout);

 private:
  struct Series {
    std::deque<store::SeriesPoint> points;  // from the first point of chunk `number` on
    int64_t number = 0;
    size_t sent = 0;  // the points that were sent
  };
  // Under the lock. Returns whether to wake the control thread.
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
  std::map<std::string, double, std::less<>> newest_;  // of the first keys, for the display
  bool is_news_ = false;
  size_t waiting_ = 0;  // points that were not sent yet
  int64_t dropped_ = 0;
  int64_t next_step_ = 0;
  bool is_due_ = false;    // the timer is, or will be, armed
  bool is_early_ = false;  // send_all is posted, ahead of the timer
  loop::Timer timer_;
};

}  // namespace rtrain::worker
