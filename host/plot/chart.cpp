#include "host/plot/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "host/base/moving_average.h"

namespace rtrain::plot {

std::vector<PlotPoint> smoothed(const std::vector<PlotPoint>& points, double weight) {
  std::vector<PlotPoint> out = points;
  MovingAverage average(weight);
  for (PlotPoint& point : out) point.y = average.add(point.y);
  return out;
}

size_t drop_unplaceable(Chart& chart) {
  size_t dropped = 0;
  for (Curve& curve : chart.curves) {
    for (std::vector<PlotPoint>* points : {&curve.points, &curve.faint}) {
      const size_t before = points->size();
      std::erase_if(*points, [&](const PlotPoint& point) {
        return !std::isfinite(point.x) || std::isinf(point.y) || (chart.log_x && point.x <= 0) ||
               (chart.log_y && point.y <= 0);
      });
      if (points == &curve.points) dropped += before - points->size();
    }
  }
  return dropped;
}

namespace {

// Keeps some points of one column, by their positions.
void keep_column(const std::vector<PlotPoint>& points, size_t begin, size_t end,
                 std::vector<PlotPoint>& out) {
  std::array<size_t, 4> kept = {begin, begin, begin, end - 1};
  for (size_t i = begin; i < end; ++i) {
    if (std::isnan(points[i].y)) continue;
    if (std::isnan(points[kept[1]].y) || points[i].y < points[kept[1]].y) kept[1] = i;
    if (std::isnan(points[kept[2]].y) || points[i].y > points[kept[2]].y) kept[2] = i;
  }
  std::sort(kept.begin(), kept.end());
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i == 0 || kept[i] != kept[i - 1]) out.push_back(points[kept[i]]);
  }
}

}  // namespace

std::vector<PlotPoint> thinned(const std::vector<PlotPoint>& points, bool log_x, size_t columns) {
  constexpr size_t kPerColumn = 4;
  if (columns == 0 || points.size() <= columns * kPerColumn) return points;
  const auto at = [log_x](double x) { return log_x ? std::log10(x) : x; };
  const double low = at(points.front().x);
  const double width = at(points.back().x) - low;
  if (width <= 0) return points;
  const auto column = [&](const PlotPoint& point) {
    return static_cast<size_t>((at(point.x) - low) / width * static_cast<double>(columns));
  };
  std::vector<PlotPoint> out;
  for (size_t begin = 0; begin < points.size();) {
    size_t end = begin + 1;
    const size_t here = column(points[begin]);
    while (end < points.size() && column(points[end]) == here) ++end;
    keep_column(points, begin, end, out);
    begin = end;
  }
  return out;
}

}  // namespace rtrain::plot
