// host/decide/scaling_policy.h: decides with how many workers a group starts, and whether
// a healthy one is resized. Pure.
//
// A fixed policy starts with exactly its number and never resizes. An elastic one starts with what
// there is capacity for, at most max, and waits below min; a running group is resized to what there
// is capacity for, unless that is less than min.
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
  // How often a healthy group is looked at, from its start or the last look.
  double resize_interval_s() const { return resize_interval_s_; }

  // The size to start with when that many workers fit; nothing: wait.
  std::optional<int> start_size(int capacity) const;
  // The size to continue with when `running` workers run and there is capacity for `capacity`,
  // their own included; nothing: as it is.
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
