// host/store/read/run_groups.h: runs in groups with the same values of some columns, such as seeds
// of one configuration.
#pragma once

#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/read/run_listing.h"

namespace rtrain::store {

// The runs of each group that its charts are drawn from, at most.
inline constexpr size_t kMostMembers = 20;

struct GroupChoice {
  std::vector<std::string> keys;     // columns whose values are the same in a group
  std::vector<std::string> columns;  // columns to summarize
  std::string sort;  // one of both, or "runs"; "-" descending; empty: the newest group first
};

// [{values, runs, cells, members}]: of each group the values of its keys, the number of runs, for
// each column {value}, if all runs have it, or {mean, deviation, count} of its numbers, or {}, and
// {name, started_at} of its newest runs. Unknown columns have no values.
List run_groups(RunListing& listing, RunFilter filter, const GroupChoice& choice);

}  // namespace rtrain::store
