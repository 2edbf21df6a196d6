// host/store/read/curves/report_charts.h: the reported metrics of runs as chart columns, for a
// process that draws repeatedly.
//
// The first call for a rank reads all of its reports, once for all metrics, and keeps one summary
// for each kReportsTogether of them; later calls read only new reports. So a chart of a million
// reports uses a few thousand summaries, and unpacks only reports at the edges of columns. As exact
// as host/store/series/series_chart.h. Memory is bounded: above some megabytes the least recently
// used runs are dropped, except the last one. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/store/db/database.h"
#include "host/store/series/series_chart.h"

namespace rtrain::store {

inline constexpr size_t kReportsTogether = 256;

class ReportCharts {
 public:
  explicit ReportCharts(size_t max_bytes = size_t{6} << 20) : max_bytes_(max_bytes) {}

  // At most query.columns columns of a rank's metric, by step; a step is the report's index.
  // nullopt if the rank has reported no such number.
  std::optional<std::vector<SeriesSummary>> columns(Database& database, const std::string& run_id,
                                                    const std::string& metric, int64_t rank,
                                                    const ChartQuery& query);
  // The names of all numbers that ranks have reported, sorted.
  std::vector<std::string> names(Database& database, const std::string& run_id);

 private:
  using ByName = std::map<std::string, std::vector<SeriesSummary>, std::less<>>;

  struct Rank {
    int64_t next_index = 0;  // the first report that was not read yet
    ByName summaries;        // by name as in the JSON, with quotes
    // The number of reports below this index at the last check: more now means late reports.
    int64_t checked_index = 0;
    int64_t checked_reports = 0;
    double checked_at_s = 0;
  };
  struct Run {
    std::mutex mutex;
    int64_t attempts = 0;
    std::map<int64_t, Rank> ranks;
    std::set<std::string, std::less<>> other_names;  // of ranks above 0
    int64_t next_other_index = 0;
    std::atomic<size_t> bytes = 0;
  };

  std::shared_ptr<Run> run_of(const std::string& run_id);
  void drop_unused();
  static void forget_superseded(Database& database, const std::string& run_id, Run& run);
  static void forget_late(Database& database, const std::string& run_id, Run& run, int64_t rank);
  static Rank& read_rank(Database& database, const std::string& run_id, Run& run, int64_t rank);
  static void read_other_names(Database& database, const std::string& run_id, Run& run);

  size_t max_bytes_;
  std::mutex mutex_;
  // In order of use, the most recent last.
  std::vector<std::pair<std::string, std::shared_ptr<Run>>> runs_;
};

// The numbers that a rank reported under the name, in order. A step is the report's index.
// Superseded reports are left out.
std::vector<SeriesPoint> reported_points(Database& database, const std::string& run_id,
                                         const std::string& metric, int64_t rank,
                                         int64_t from = std::numeric_limits<int64_t>::min(),
                                         int64_t to = std::numeric_limits<int64_t>::max());

// The ranks that have reported a number under the name, sorted. Reads all reports.
std::vector<int64_t> reporting_ranks(Database& database, const std::string& run_id,
                                     const std::string& metric);

}  // namespace rtrain::store
