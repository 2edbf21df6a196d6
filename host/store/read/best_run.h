// host/store/read/best_run.h: finds the best of several runs, if their objective is known.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain::store {

struct BestRun {
  size_t position = 0;  // among the runs
  std::string metric;
  bool is_largest = true;  // else the smallest value is the best
};

// Compares rows of RunListing by their last metrics. If `sort` (as in RunFilter) is a metric,
// compares that metric, with the mode of the runs' CheckpointConfig or else the order of the sort.
// Otherwise compares the metric by which the runs rank their checkpoints. Returns nullopt if they
// rank differently, or if fewer than two have a number for it.
std::optional<BestRun> best_run(Database& database, const std::string& sort, const List& runs);

}  // namespace rtrain::store
