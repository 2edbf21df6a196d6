// host/node/series/process_monitor.h: samples the processes of a node's ranks and their node at an
// interval.
//
// Belongs to the loop's thread, which reads a few files of /proc for each rank.
#pragma once

#include <chrono>
#include <set>

#include "host/loop/timer.h"
#include "host/node/series/process_series.h"

namespace rtrain::node {

class ProcessMonitorDelegate {
 public:
  virtual ~ProcessMonitorDelegate() = default;
  virtual void on_series(store::SeriesChunk chunk) = 0;
  // The rank's pid; 0 if it has no process now.
  virtual int living_pid(int rank) const = 0;
};

class ProcessMonitor {
 public:
  ProcessMonitor(loop::Loop& loop, int attempt, ProcessMonitorDelegate& delegate);

  struct Plan {
    int first_rank = 0;
    int num_ranks = 0;
    double interval_s = 5;  // 0: never
  };
  // The first sample is taken after one interval, so a short run has none.
  void start(const Plan& plan);
  void stop() { timer_.stop(); }
  // Stops sampling the rank. If it was the first one, the node's series continue under the next
  // rank.
  void leave_out(int rank) { left_out_.insert(rank); }

 private:
  void arm();
  void sample();
  int rank_of_node() const;
  void pass_on(std::vector<store::SeriesChunk> chunks);

  ProcessMonitorDelegate& delegate_;
  ProcessSeries series_;
  Plan plan_;
  std::set<int> left_out_;
  loop::Timer timer_;
};

}  // namespace rtrain::node
