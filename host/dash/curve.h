// host/dash/curve.h: many points of a metric as the few that a chart can show, with every spike.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/base/value.h"
#include "host/store/series_chunk.h"

namespace rtrain {

// Neighbouring points as one. Least, largest and mean are those of all its finite values; where it
// has none they are NaN.
struct CurvePart {
  int64_t step = 0;     // of its first point
  int64_t time_ms = 0;  // of its first point
  double least = 0;
  double largest = 0;
  double mean = 0;
  size_t count = 0;      // of points
  size_t nonfinite = 0;  // NaN or infinite ones among them
};

// At most that many parts, of equally many points each but for the last. REQUIRES: max_parts > 0.
std::vector<CurvePart> curve_parts(std::span<const SeriesPoint> points, size_t max_parts);

// {steps, times (milliseconds since 1970), min, max, mean, counts, nonfinite}: a list each, an item
// for each part; nil where there is no finite value. Where each part is one point `max`, `mean` and
// `counts` are left out.
Map describe_curve(std::span<const CurvePart> parts);

}  // namespace rtrain
