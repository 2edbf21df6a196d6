// host/engine/recording/region_summary.h: what explain() and profiles show of a region of a plan.
#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <string>
#include <vector>

#include "host/engine/recording/record.h"
#include "host/engine/runtime/line_range.h"

namespace rtrain::engine {

struct RegionSummary {
  std::string name;  // "fused_mul_add_tanh"
  std::string line;  // of the script that made its first call; empty if it is not known
  int num_calls = 0;
  int64_t bytes_saved = 0;  // that it does not read or write
};

// Of these calls, without the bytes.
RegionSummary summary_of(const Record& record, const std::vector<int>& calls);

// While it exists, profiles are in the region as in an operator of its line.
class RegionRange {
 public:
  explicit RegionRange(const RegionSummary& region)
      : line_(region.line), operator_(at::RecordScope::FUNCTION) {
    if (operator_.isActive()) operator_.before(region.name);
  }

 private:
  LineRange line_;
  at::RecordFunction operator_;
};

}  // namespace rtrain::engine
