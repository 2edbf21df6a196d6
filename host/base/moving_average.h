// host/base/moving_average.h: an exponential moving average that is not drawn to zero at its
// beginning. Pure.
#pragma once

#include <cmath>

namespace rtrain {

class MovingAverage {
 public:
  // What the past counts, from 0 (nothing changes) to below 1.
  explicit MovingAverage(double weight) : weight_(weight) {}

  // The average with this number. One that is not finite stays as it is, and counts nothing.
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
