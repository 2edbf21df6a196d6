// host/engine/recording/plan_order.h: the order in which a plan makes the calls of a record, and
// which of them become regions.
#pragma once

#include <optional>
#include <vector>

#include "host/engine/recording/pointwise.h"
#include "host/engine/recording/record.h"

namespace rtrain::engine {

struct PlanItem {
  std::vector<int> calls;                      // one, or those of the region
  std::vector<int> with_views;                 // as above, with views that the region has taken
  std::optional<RegionBuilder::Built> region;  // nothing for a single call
};

// Whether a plan needs each call: it changes what is outside of the step or random numbers, or a
// needed call or the caller uses the memory that it writes.
std::vector<bool> needed_calls(const Record& record);

// The needed calls. Those that work element by element are grouped.
std::vector<PlanItem> plan_order(const Record& record, const std::vector<bool>& is_needed);

}  // namespace rtrain::engine
