// host/worker/report_backlog.h: limits how far this rank's reports are ahead of the slowest rank's.
//
// A rank that reports faster than the others, or faster than the store can write, waits. So the
// controller holds a limited number of reports and bytes of each rank. Threads: the main thread
// calls add() and should_ask(), the control thread take().
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

  // Waits until a report of this many bytes is within the limits, and counts it. Throws kTimeout,
  // which names the report's number `index`, and kPeerLost after close().
  void add(size_t bytes, int64_t index, double timeout_s);
  // True from time to time: this report is to ask the controller for an acknowledgement.
  bool should_ask(size_t bytes);

  // The controller has acknowledged this many reports of the attempt in all.
  void take(int64_t count);
  // Ends every wait with kPeerLost.
  void close();
  // Removes the limits: no report waits from now on.
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
