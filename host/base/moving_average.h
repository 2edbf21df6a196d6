// host/base/moving_average.h: an exponential moving average without bias towards zero at the
// beginning. Pure.
#pragma once

#include <cmath>

namespace rtrain {

class MovingAverage {
 public:
  // `weight` is the past's weight, from 0 (no smoothing) to below 1.
  explicit MovingAverage(double weight) : weight_(weight) {}

  // Adds the number and returns the average. Returns a number that is not finite unchanged and
  // ignores it.
  double add(double number) {
    if (!std::isfinite(number)) return number;
    sum_ = weight_ * sum_ + (1 - weight_) * number;
    total_ = weight_ * total_ + (1 - weight_);
    return sum_ / total_;
  }

 private:
  double weight_;
  double sum_ = 0;
  double total_ = 0;
};

}  // namespace rtrain
