// host/store/read/rank_timeline.h: the phases in which the ranks of a run spent their last steps,
// from the series time/… that each rank records. It shows stragglers.
//
// A rank knows how long it waits for ranks of its node. Its communication time includes waits for
// other nodes: the smallest one of all ranks counts as exchange of data, and the excess of each
// other rank as its wait. So does that of its reports, of which the smallest is the commit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/db/database.h"
#include "host/store/read/run_resolver.h"

namespace rtrain::store {

// Seconds.
struct PhaseTimes {
  double data = 0;
  double compute = 0;  // forward, backward, optimizer
  double communication = 0;
  double wait = 0;
  double checkpoint = 0;
  double report = 0;  // waits of reports
  double other = 0;

  double total() const {
    return data + compute + communication + wait + checkpoint + report + other;
  }
};

// A rank's total times when its optimizers had made `step` steps. `communication` and
// `report` include waits.
struct TimeRecord {
  int64_t step = 0;
  int64_t time_ms = 0;
  PhaseTimes times;
};

// The times between two records.
struct TimeInterval {
  int64_t from_step = 0;
  int64_t to_step = 0;
  int64_t time_ms = 0;  // at its end
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
  double waited_s = 0;     // in each step, by each other rank on average
  std::string phase = {};  // the phase in which it is slower: "compute", "data", …
  double own_s = 0;        // in each step, for that phase
  double others_s = 0;     // mean of the other ranks
};

struct RankTimeline {
  int64_t attempt = 0;
  int64_t from_step = 0;
  int64_t to_step = 0;
  std::vector<RankTimes> ranks;
  std::optional<SlowRank> straggler;  // nullopt: no rank waits for long
};

// Pure. `records`: each rank's, in order. Covers the last `steps` steps that all ranks have
// recorded. Has no ranks if one of them has made no step.
RankTimeline make_timeline(const std::map<int64_t, std::vector<TimeRecord>>& records,
                           int64_t steps);

// Covers the newest attempt. Error(kUsage) if the run has recorded no step.
RankTimeline read_timeline(Database& database, const RunRef& run, int64_t steps);

// How long each rank waits in a step, where none is the slow one: they are late in turn. 0: they
// wait for less than is worth a word.
double waits_in_turn_s(const RankTimeline& timeline);

Value to_value(const RankTimeline& timeline);
// Chrome's trace format, for Perfetto: each rank is a process, with the phases of each interval one
// after the other.
Value to_trace(const RankTimeline& timeline);

}  // namespace rtrain::store
