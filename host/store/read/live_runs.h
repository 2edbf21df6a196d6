// host/store/read/live_runs.h: the runs that go on, as documents that are made again and again.
//
// CPU and memory of a rank are what /proc says of its process, where that is on this host; the rest
// is what the store has. The store is opened each time: it may be a copy, or come only later.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "host/base/value.h"
#include "host/store/read/run_reader.h"

namespace rtrain {

// True for a run that is over: a final status, or LOST.
bool is_over(const Value& run);

class LiveRuns {
 public:
  // `run`: the run_id of the only one that is asked for; nothing for all that go on.
  explicit LiveRuns(std::optional<std::string> run) : run_(std::move(run)) {}

  // The keys of RunReader::progress; each of `ranks` has also cpu_percent (of a core, since the
  // last look; nil the first time) and memory_bytes. The newest run first. A run that has ended
  // since the first look is there with its end. Without a store: none.
  List look(std::optional<RunReader> reader);
  // The run is looked at no more, unless it goes on again.
  void forget(const std::string& run_id) { seen_.erase(run_id); }

 private:
  struct Usage {
    double cpu_s = 0;
    double at_s = 0;
  };

  void add_usage(Map& rank);
  void add(List& out, RunReader& reader, const std::string& run_id);

  std::optional<std::string> run_;
  std::set<std::string> seen_;      // run ids
  std::map<int64_t, Usage> usage_;  // by pid, as it was at the last look
};

}  // namespace rtrain
