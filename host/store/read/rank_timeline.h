// host/store/read/rank_timeline.h: what the ranks of a run spent their last steps on, side by side,
// from the series time/… that each of them records. From it a straggler is seen.
//
// A rank's communication is its exchange of data and its wait for the others. What the rank with
// the least of it has counts as the exchange, and what another rank has above that as its wait.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/read/run_reader.h"

namespace rtrain {

// Seconds.
struct PhaseTimes {
  double data = 0;
  double compute = 0;  // forward, backward, optimizer
  double communication = 0;
  double wait = 0;
  double checkpoint = 0;
  double other = 0;

  double total() const { return data + compute + communication + wait + checkpoint + other; }
};

// Where the time of one rank had gone when it had made that many steps of its optimizers; in
// `communication` with the waits.
struct TimeRecord {
  int64_t step = 0;
  int64_t time_ms = 0;
  PhaseTimes times;
};

// Between two records.
struct TimeInterval {
  int64_t from_step = 0;
  int64_t to_step = 0;
  int64_t time_ms = 0;  // of its end
  PhaseTimes times;
};

struct RankTimes {
  int64_t rank = 0;
  int64_t steps = 0;
  PhaseTimes per_step;
  std::vector<TimeInterval> intervals;
};

struct SlowRank {
  int64_t rank = 0;
  double waited_s = 0;     // in each step, by each of the others on average
  std::string phase = {};  // what it takes longer for than the others: "compute", "data", …
  double own_s = 0;        // in each step, for that
  double others_s = 0;     // the others' mean
};

struct RankTimeline {
  int64_t attempt = 0;
  int64_t from_step = 0;
  int64_t to_step = 0;
  std::vector<RankTimes> ranks;
  std::optional<SlowRank> straggler;  // none: nobody waits for long
};

// Pure. Of each rank its records in order; of the last `steps` steps that all have recorded. No
// rank where one of them has made no step.
RankTimeline make_timeline(const std::map<int64_t, std::vector<TimeRecord>>& records,
                           int64_t steps);

// Of the newest attempt. Error(kUsage) where the run has not recorded any step.
RankTimeline read_timeline(RunReader& reader, const RunRef& run, int64_t steps);

Value to_value(const RankTimeline& timeline);
// As Chrome's traces have it, for Perfetto: each rank a process, in each interval its phases one
// after the other.
Value to_trace(const RankTimeline& timeline);

}  // namespace rtrain
