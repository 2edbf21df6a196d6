// host/store/read/best_run.h: which of some runs is the best, where it is known what that means.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain {

struct BestRun {
  size_t position = 0;  // among the runs
  std::string metric;
  bool is_largest = true;  // else its smallest value is the best
};

// Among rows of RunListing, by their last metrics. `sort` (as RunFilter has it) by a metric means
// that one, its mode is that of the runs' CheckpointConfig, else what comes first. Without it, the
// metric by which the runs rank their checkpoints. Nothing where they rank them differently, or
// where fewer than two have a number there.
std::optional<BestRun> best_run(Database& database, const std::string& sort, const List& runs);

}  // namespace rtrain
