// host/plot/chart.h: curves to draw, and how their points are selected before that. Pure.
#pragma once

#include <string>
#include <vector>

namespace rtrain::plot {

// If y is NaN, the curve has a gap.
struct PlotPoint {
  double x = 0;
  double y = 0;

  bool operator==(const PlotPoint& other) const = default;
};

struct Curve {
  std::string name;
  std::vector<PlotPoint> points;      // sorted by x
  std::vector<PlotPoint> faint = {};  // drawn below the curve: the points before smoothing
};

struct Chart {
  std::string title;    // the metric
  std::string x_label;  // "step"
  bool log_x = false;
  bool log_y = false;
  std::vector<Curve> curves;
};

// Returns the moving average of the points (host/base/moving_average.h).
std::vector<PlotPoint> smoothed(const std::vector<PlotPoint>& points, double weight);

// Removes points that have no place on the axes: infinite ones, and those not above zero on a
// logarithmic axis. Returns their number.
size_t drop_unplaceable(Chart& chart);

// Returns the visible points in that many columns of equal width between the first x and the last:
// the first, smallest, largest and last point of each column. So extrema stay exact.
std::vector<PlotPoint> thinned(const std::vector<PlotPoint>& points, bool log_x, size_t columns);

}  // namespace rtrain::plot
