// host/store/read/report_rows.h: the reports of a run, in order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain::store {

// One report of one rank.
struct RankReport {
  int64_t index = 0;
  int64_t attempt = 0;
  int64_t time_ms = 0;
  Value metrics;  // a map
};

// A range of report indices, both ends included; empty if the last is below the first.
struct ReportRange {
  int64_t first = 0;
  int64_t last = -1;
};

// A range of rows of a list.
struct RowRange {
  int64_t offset = 0;
  int64_t limit = -1;  // -1: all
};

struct ReportRowQuery {
  bool ranks = false;  // adds `ranks`: the metrics of all ranks, a list by rank
  bool all = false;    // adds superseded reports, and `superseded`
  RowRange page = {};  // only the rows of that range are read
};

// Rows {index, attempt, time, metrics}; metrics are rank 0's, nil if it has not reported.
List report_rows(Database& database, const std::string& run_id, const ReportRowQuery& asked);

// The number of those rows, of all pages.
int64_t count_report_rows(Database& database, const std::string& run_id, bool all);

// Calls see(report) for each valid report of rank 0; holds one at a time.
void each_report(Database& database, const std::string& run_id,
                 const std::function<void(const RankReport&)>& see);

// The indices of all reports of the run.
ReportRange report_range(Database& database, const std::string& run_id);

// Calls see(json, nonfinite) with the metrics of those reports whose index is in the range, in the
// form of host/store/db/stored_metrics.h.
void each_stored_metrics(Database& database, const std::string& run_id, ReportRange range,
                         const std::function<void(std::string_view, std::string_view)>& see);

}  // namespace rtrain::store
