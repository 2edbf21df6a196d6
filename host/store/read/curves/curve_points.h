// host/store/read/curves/curve_points.h: what a curve is made of: the values that a rank reported
// under a name, else those that it logged (train.log). The one place where that is decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/store/db/database.h"
#include "host/store/read/curves/report_charts.h"
#include "host/store/series/series_chart.h"
#include "host/store/series/series_chunk.h"

namespace rtrain::store {

struct CurvePoints {
  std::vector<SeriesPoint> reported;  // empty: they were logged, which may be too many to hold
};
// Nothing where the rank has neither. `only_logged`: what it reported does not count.
std::optional<CurvePoints> curve_points(Database& database, const std::string& run_id,
                                        const std::string& name, int64_t rank, bool only_logged);

// The same as columns, for drawing; empty where the rank has neither.
std::vector<SeriesSummary> curve_columns(Database& database, ReportCharts& charts,
                                         const std::string& run_id, const std::string& name,
                                         int64_t rank, const ChartQuery& query,
                                         bool only_logged = false);

// The names of the curves of a run, each list sorted.
struct CurveNames {
  std::vector<std::string> reported;
  std::vector<std::string> logged;

  std::vector<std::string> all() const;
  // The names that are in both lists.
  std::vector<std::string> both() const;
};
CurveNames curve_names(Database& database, ReportCharts& charts, const std::string& run_id);

// The names under which any run has logged, sorted.
std::vector<std::string> logged_names(Database& database);

// The ranks that have reported or logged something under the name, sorted. Reads all reports.
std::vector<int64_t> ranks_of_curve(Database& database, const std::string& run_id,
                                    const std::string& name);

}  // namespace rtrain::store
