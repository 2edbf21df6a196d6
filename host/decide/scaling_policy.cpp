#include "host/decide/scaling_policy.h"

#include <algorithm>

namespace rtrain::decide {

ScalingPolicy ScalingPolicy::fixed(int num_workers) { return {num_workers, num_workers}; }

ScalingPolicy ScalingPolicy::elastic(int min_workers, int max_workers, double resize_interval_s) {
  ScalingPolicy policy(min_workers, max_workers);
  policy.elastic_ = true;
  policy.resize_interval_s_ = resize_interval_s;
  return policy;
}

std::optional<int> ScalingPolicy::start_size(int capacity) const {
  if (capacity < min_workers_) return std::nullopt;
  return std::min(capacity, max_workers_);
}

std::optional<int> ScalingPolicy::resize(int running, int capacity) const {
  if (!elastic_) return std::nullopt;
  const std::optional<int> wanted = start_size(capacity);
  if (!wanted || *wanted == running) return std::nullopt;
  return wanted;
}

}  // namespace rtrain::decide
