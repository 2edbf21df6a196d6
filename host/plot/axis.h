// host/plot/axis.h: a range of numbers, linear or logarithmic, with ticks at round numbers. Pure.
#pragma once

#include <string>
#include <vector>

#include "host/plot/chart.h"

namespace rtrain::plot {

struct Tick {
  double value = 0;
  std::string label;
};

class Axis {
 public:
  // REQUIRES: low <= high, and both above zero if it is logarithmic. If both are the same number,
  // the range extends around it. With `is_whole` the ticks are integers.
  Axis(double low, double high, bool is_log, bool is_whole = false);

  double low() const { return low_; }
  double high() const { return high_; }
  // Returns 0 for the low end, 1 for the high one.
  double place(double value) const;
  // Returns ticks with ascending numbers and different labels: at most `most` + 1, but up
  // to three in any case. If no round number is in the range, they are its two ends.
  std::vector<Tick> ticks(size_t most) const;

 private:
  std::vector<Tick> log_ticks(double count) const;
  std::vector<Tick> linear_ticks(double count) const;

  double low_;
  double high_;
  bool is_log_;
  bool is_whole_;
};

// The axes of a chart: x extends exactly as far as the points, y a little further. Without points
// they extend from 0 to 1.
Axis x_axis(const Chart& chart);
Axis y_axis(const Chart& chart);

}  // namespace rtrain::plot
