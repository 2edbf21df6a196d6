// host/plot/chart.h: curves to be drawn, and the selection of their points before that. Pure.
#pragma once

#include <string>
#include <vector>

namespace rtrain::plot {

// y may be NaN: the curve has a gap there.
struct PlotPoint {
  double x = 0;
  double y = 0;

  bool operator==(const PlotPoint& other) const = default;
};

struct Curve {
  std::string name;
  std::vector<PlotPoint> points;      // by x
  std::vector<PlotPoint> faint = {};  // drawn below it: the points before smoothing
};

struct Chart {
  std::string title;    // the metric
  std::string x_label;  // "step"
  bool log_x = false;
  bool log_y = false;
  std::vector<Curve> curves;
};

// The moving average of the points (host/base/moving_average.h).
std::vector<PlotPoint> smoothed(const std::vector<PlotPoint>& points, double weight);

// Points without a place on the axes go: not above zero where an axis is logarithmic, and infinite
// ones. How many.
size_t drop_unplaceable(Chart& chart);

// The visible part of the points in that many columns of equal width between the first x and the
// last: of each column its first, smallest, largest and last point. Extrema stay exact.
std::vector<PlotPoint> thinned(const std::vector<PlotPoint>& points, bool log_x, size_t columns);

}  // namespace rtrain::plot
