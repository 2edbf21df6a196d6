// host/store/read/live_runs.h: repeated snapshots of the runs that are not over.
//
// CPU and memory of a rank come from /proc if its process is on this node; the rest comes from the
// store. The store is opened each time, because it may be a copy or may be created later.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "host/base/value.h"
#include "host/store/read/open_store.h"

namespace rtrain::store {

// Whether the run is over: its status is final or LOST.
bool is_over(const Value& run);

class LiveRuns {
 public:
  // `run`: run_id of the only run to show; nullopt: all live runs.
  explicit LiveRuns(std::optional<std::string> run) : run_(std::move(run)) {}

  // Returns the keys of RunListing::row and of read_progress (run_progress.h), newest run first.
  // Each entry of `ranks` also has cpu_percent (of one core, since the last call; nil the first
  // time) and memory_bytes. Includes runs that have ended since the first call. Empty without a
  // store.
  List look(std::optional<OpenStore> store);
  // Drops the run, until it is live again.
  void forget(const std::string& run_id) { seen_.erase(run_id); }

 private:
  struct Usage {
    double cpu_s = 0;
    double at_s = 0;
  };

  void add_usage(Map& rank);
  void add(List& out, Database& database, const std::string& run_id);

  std::optional<std::string> run_;
  std::set<std::string> seen_;      // ids of runs shown so far
  std::map<int64_t, Usage> usage_;  // by pid, at the last call
};

}  // namespace rtrain::store
