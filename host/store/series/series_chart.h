// host/store/series/series_chart.h: a series as a given number of columns, for drawing. Each column
// has its extrema with their places, sum and count, first and last point. Unpacks few of the
// points, however many there are.
//
// Exact: every valid point (see host/store/series/series_store.h) within the steps is in one
// column. The borders of columns are approximate: a summary narrower than a column belongs to the
// column of its first point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "host/store/series/series_summary.h"

namespace rtrain::store {

class Database;

struct ChartQuery {
  int64_t from_step = std::numeric_limits<int64_t>::min();
  int64_t to_step = std::numeric_limits<int64_t>::max();  // included
  size_t columns = 1000;
  bool by_time = false;  // columns of equal time instead of equal steps
  bool is_log = false;   // columns of equal factors, from 1 ms or step 1 on
  // Above 0: the moving average of the points (host/base/moving_average.h) with this factor. Then
  // all points are unpacked, one chunk at a time.
  double smoothing = 0;
};

// At most query.columns columns of one rank's series, in order, without empty ones. Empty for a key
// that the rank has not logged.
std::vector<SeriesSummary> chart_columns(Database& database, const std::string& run_id,
                                         const std::string& key, int64_t rank,
                                         const ChartQuery& query);

// The points to draw, in the order of logging: of each column the first, smallest, largest and
// last. Leaves out infinite values.
std::vector<SeriesPoint> drawn_points(const std::vector<SeriesSummary>& columns);

}  // namespace rtrain::store
