#include "host/store/read/curve_points.h"

#include <utility>

namespace rtrain::store {

std::optional<CurvePoints> curve_points(RunReader& reader, const RunRef& run,
                                        const std::string& name, int64_t rank, bool only_logged) {
  CurvePoints out;
  if (!only_logged) out.reported = reader.reported(run, name, rank);
  if (!out.reported.empty()) return out;
  if (reader.charted(run, name, rank, {.columns = 1}).empty()) return std::nullopt;
  return out;
}

std::vector<SeriesSummary> curve_columns(RunReader& reader, ReportCharts& charts, const RunRef& run,
                                         const std::string& name, int64_t rank,
                                         const ChartQuery& query) {
  auto reported = reader.charted(charts, run, name, rank, query);
  return reported ? std::move(*reported) : reader.charted(run, name, rank, query);
}

}  // namespace rtrain::store
