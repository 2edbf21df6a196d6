// host/worker/report_backlog.h: how far the reports of this rank are ahead of the slowest rank's.
//
// A rank that reports faster than the others, or than the store can write, waits; so the controller
// never holds more than this much of each rank. wait() and should_ask() belong to the main thread,
// take() to the control thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "host/worker/progress.h"
#include "host/worker/report/idle.h"

namespace rtrain::worker {

class ReportBacklog {
 public:
  ReportBacklog(const Idle& idle, Progress& progress) : idle_(idle), progress_(progress) {}

  // Waits until there is room for a report of that many bytes, and takes it. Throws kTimeout, with
  // the report's number `index` in it, and kPeerLost once closed.
  void add(size_t bytes, int64_t index, double timeout_s);
  // True from time to time: the controller is to be asked how far it is.
  bool should_ask(size_t bytes);

  // It has acknowledged that many of this attempt's reports in all.
  void take(int64_t count);
  // Ends every wait.
  void close();
  // There is room for any report from now on.
  void open();

 private:
  bool has_room(size_t bytes) const;

  const Idle& idle_;
  Progress& progress_;
  size_t unasked_bytes_ = 0;
  int64_t unasked_reports_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  bool open_ = false;
  std::deque<size_t> untaken_;  // bytes of the reports that are not acknowledged
  size_t untaken_bytes_ = 0;
  int64_t taken_ = 0;
};

}  // namespace rtrain::worker
