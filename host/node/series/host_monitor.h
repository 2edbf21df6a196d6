// host/node/series/host_monitor.h: looks now and then at what the processes of a node's ranks and
// their host do.
//
// Belongs to the loop's thread, which reads /proc itself: a few files for each rank.
#pragma once

#include <chrono>
#include <set>

#include "host/loop/timer.h"
#include "host/node/series/host_series.h"

namespace rtrain {

class HostMonitorDelegate {
 public:
  virtual ~HostMonitorDelegate() = default;
  virtual void on_series(SeriesChunk chunk) = 0;
  // 0: it has no process now.
  virtual int living_pid(int rank) const = 0;
};

class HostMonitor {
 public:
  HostMonitor(Loop& loop, int attempt, HostMonitorDelegate& delegate);

  struct Plan {
    int first_rank = 0;
    int num_ranks = 0;
    double interval_s = 5;  // 0: never
  };
  // The first look is after one interval: a short run has none.
  void start(const Plan& plan);
  void stop() { timer_.stop(); }
  // There is no such rank any more: where it was the first one the host's series are another's.
  void leave_out(int rank) { left_out_.insert(rank); }

 private:
  void arm();
  void sample();
  int host_rank() const;
  void pass_on(std::vector<SeriesChunk> chunks);

  HostMonitorDelegate& delegate_;
  HostSeries series_;
  Plan plan_;
  std::set<int> left_out_;
  Timer timer_;
};

}  // namespace rtrain
