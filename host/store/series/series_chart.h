// host/store/series/series_chart.h: a series as that many columns, for drawing: of each column its
// extrema, with their places, sum and count, first and last point. However many points there are,
// few of them are unpacked.
//
// Exact: every point that counts (as host/store/series/series_store.h has it) and lies within the
// steps is in one column. Where a column ends is not: a summary that is narrower than a column is
// in the column of its first point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "host/store/series/series_summary.h"

namespace rtrain {

class Database;

struct ChartQuery {
  int64_t from_step = std::numeric_limits<int64_t>::min();
  int64_t to_step = std::numeric_limits<int64_t>::max();  // with it
  size_t columns = 1000;
  bool by_time = false;  // columns of equal time, else of equal steps
  bool is_log = false;   // of equal factors: from 1 ms, or step 1, on
  // Above 0: of the moving average of the points (host/base/moving_average.h). All are unpacked,
  // one chunk at a time.
  double smoothing = 0;
};

// At most query.columns of one rank's series, in order: a column without a point is left out. None
// for a key that the rank has not logged.
std::vector<SeriesSummary> chart_columns(Database& database, const std::string& run_id,
                                         const std::string& key, int64_t rank,
                                         const ChartQuery& query);

// What is drawn of them, in the order of logging: of each column its first, least, greatest and
// last point. Infinite ones are left out.
std::vector<SeriesPoint> drawn_points(const std::vector<SeriesSummary>& columns);

}  // namespace rtrain
