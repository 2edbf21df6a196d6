// host/decide/scaling_policy.h: decides how many workers a group starts with, and whether
// a healthy group is resized. Pure.
//
// A fixed policy starts with exactly its number of workers and never resizes. An elastic policy
// starts as many workers as there is capacity for, at most max; it waits while that is less than
// min. It resizes a running group to the same number; below min the group stays as it is.
#pragma once

#include <optional>

namespace rtrain::decide {

class ScalingPolicy {
 public:
  static ScalingPolicy fixed(int num_workers);
  static ScalingPolicy elastic(int min_workers, int max_workers, double resize_interval_s);

  int min_workers() const { return min_workers_; }
  int max_workers() const { return max_workers_; }
  bool is_elastic() const { return elastic_; }
  // The time from a group's start, or from the last look at the capacity, to the next look.
  double resize_interval_s() const { return resize_interval_s_; }

  // The size to start with when there is capacity for `capacity` workers; nullopt: wait.
  std::optional<int> start_size(int capacity) const;
  // The size to continue with when `running` workers run and there is capacity for `capacity`
  // workers, these included; nullopt: the group stays as it is.
  std::optional<int> resize(int running, int capacity) const;

 private:
  ScalingPolicy(int min_workers, int max_workers)
      : min_workers_(min_workers), max_workers_(max_workers) {}

  int min_workers_;
  int max_workers_;
  bool elastic_ = false;
  double resize_interval_s_ = 0;
};

}  // namespace rtrain::decide
