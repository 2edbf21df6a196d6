// host/plot/axis.h: a range of numbers, linear or logarithmic, with ticks at round ones. Pure.
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
  // low <= high; both above zero where it is logarithmic. One number gets a range around it. Of
  // whole numbers the ticks are whole, too.
  Axis(double low, double high, bool is_log, bool is_whole = false);

  double low() const { return low_; }
  double high() const { return high_; }
  // 0 at the low end, 1 at the high one.
  double place(double value) const;
  // In order, each another number with another label, at most that many and one but for the three
  // that there may always be; the two ends where no round number lies between.
  std::vector<Tick> ticks(size_t most) const;

 private:
  std::vector<Tick> log_ticks(double count) const;
  std::vector<Tick> linear_ticks(double count) const;

  double low_;
  double high_;
  bool is_log_;
  bool is_whole_;
};

// Those of a chart: x just as far as the points go, y a little further. From 0 to 1 where there are
// no points.
Axis x_axis(const Chart& chart);
Axis y_axis(const Chart& chart);

}  // namespace rtrain::plot
