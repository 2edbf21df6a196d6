// host/dash/curve.h: the columns of a chart as the API answers them. Pure.
#pragma once

#include <span>

#include "host/base/value.h"
#include "host/store/series/series_summary.h"

namespace rtrain::dash {

// {steps, times (milliseconds since 1970), min, max, mean, counts, nonfinite}: a list each, an item
// for each column; step and time are those of its first point, min, max and mean those of all its
// finite values, nil where there are none. Where each column is one point `max`, `mean` and
// `counts` are left out.
Map describe_curve(std::span<const store::SeriesSummary> columns);

}  // namespace rtrain::dash
