#include "host/dash/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rtrain {
namespace {

CurvePart part_of(std::span<const SeriesPoint> points) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CurvePart out{.step = points.front().step,
                .time_ms = points.front().time_ms,
                .least = kNan,
                .largest = kNan,
                .mean = kNan,
                .count = points.size()};
  double sum = 0;
  for (const SeriesPoint& point : points) {
    if (!std::isfinite(point.value)) {
      ++out.nonfinite;
      continue;
    }
    out.least = std::fmin(out.least, point.value);
    out.largest = std::fmax(out.largest, point.value);
    sum += point.value;
  }
  const size_t finite = out.count - out.nonfinite;
  if (finite > 0) out.mean = sum / static_cast<double>(finite);
  return out;
}

Value number(double value) { return std::isfinite(value) ? Value(value) : Value(); }

}  // namespace

std::vector<CurvePart> curve_parts(std::span<const SeriesPoint> points, size_t max_parts) {
  std::vector<CurvePart> out;
  const size_t each = (points.size() + max_parts - 1) / max_parts;
  for (size_t begin = 0; begin < points.size(); begin += each) {
    out.push_back(part_of(points.subspan(begin, std::min(each, points.size() - begin))));
  }
  return out;
}

Map describe_curve(std::span<const CurvePart> parts) {
  const bool are_points = std::all_of(parts.begin(), parts.end(),
                                      [](const CurvePart& part) { return part.count == 1; });
  List steps, times, least, largest, mean, counts, nonfinite;
  for (const CurvePart& part : parts) {
    steps.emplace_back(part.step);
    times.emplace_back(part.time_ms);
    least.push_back(number(part.least));
    nonfinite.emplace_back(part.nonfinite);
    if (are_points) continue;
    largest.push_back(number(part.largest));
    mean.push_back(number(part.mean));
    counts.emplace_back(part.count);
  }
  Map out{{"steps", std::move(steps)}, {"times", std::move(times)}, {"min", std::move(least)}};
  if (!are_points) {
    out.set("max", std::move(largest));
    out.set("mean", std::move(mean));
    out.set("counts", std::move(counts));
  }
  out.set("nonfinite", std::move(nonfinite));
  return out;
}

}  // namespace rtrain
