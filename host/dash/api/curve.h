// host/dash/api/curve.h: a chart's columns as the API returns them. Pure.
#pragma once

#include <span>

#include "host/base/value.h"
#include "host/store/series/series_summary.h"

namespace rtrain::dash {

// Returns {steps, times (milliseconds since 1970), min, max, mean, counts, nonfinite}: lists with
// an item for each column. Step and time are those of its first point; min, max and mean those of
// all its finite values, nil without any. If each column is one point, `max`, `mean` and `counts`
// are left out.
Map describe_curve(std::span<const store::SeriesSummary> columns);

}  // namespace rtrain::dash
