// host/store/read/curve_points.h: what a curve is made of: the values that a rank reported under a
// name, else those that it logged (train.log). The one place where that is decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/store/read/run_reader.h"

namespace rtrain::store {

struct CurvePoints {
  std::vector<SeriesPoint> reported;  // empty: they were logged, which may be too many to hold
};
// Nothing where the rank has neither. `only_logged`: what it reported does not count.
std::optional<CurvePoints> curve_points(RunReader& reader, const RunRef& run,
                                        const std::string& name, int64_t rank, bool only_logged);

// The same as columns, for drawing; empty where the rank has neither.
std::vector<SeriesSummary> curve_columns(RunReader& reader, ReportCharts& charts, const RunRef& run,
                                         const std::string& name, int64_t rank,
                                         const ChartQuery& query);

}  // namespace rtrain::store
