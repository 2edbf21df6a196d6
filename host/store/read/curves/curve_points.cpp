#include "host/store/read/curves/curve_points.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "host/store/series/series_store.h"

namespace rtrain::store {
namespace {

template <class T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

std::optional<CurvePoints> curve_points(Database& database, const std::string& run_id,
                                        const std::string& name, int64_t rank, bool only_logged) {
  CurvePoints out;
  if (!only_logged) out.reported = reported_points(database, run_id, name, rank);
  if (!out.reported.empty()) return out;
  if (chart_columns(database, run_id, name, rank, {.columns = 1}).empty()) return std::nullopt;
  return out;
}

std::vector<SeriesSummary> curve_columns(Database& database, ReportCharts& charts,
                                         const std::string& run_id, const std::string& name,
                                         int64_t rank, const ChartQuery& query, bool only_logged) {
  if (only_logged) return chart_columns(database, run_id, name, rank, query);
  auto reported = charts.columns(database, run_id, name, rank, query);
  return reported ? std::move(*reported) : chart_columns(database, run_id, name, rank, query);
}

std::vector<std::string> CurveNames::all() const {
  std::vector<std::string> out;
  std::set_union(reported.begin(), reported.end(), logged.begin(), logged.end(),
                 std::back_inserter(out));
  return out;
}

std::vector<std::string> CurveNames::both() const {
  std::vector<std::string> out;
  std::set_intersection(reported.begin(), reported.end(), logged.begin(), logged.end(),
                        std::back_inserter(out));
  return out;
}

CurveNames curve_names(Database& database, ReportCharts& charts, const std::string& run_id) {
  CurveNames out{.reported = charts.names(database, run_id),
                 .logged = series_keys(database, run_id)};
  sort_unique(out.reported);
  sort_unique(out.logged);
  return out;
}

std::vector<std::string> logged_names(Database& database) {
  Statement query = database.prepare("SELECT DISTINCT key FROM series ORDER BY key");
  std::vector<std::string> out;
  while (query.next()) out.push_back(query.text(0));
  return out;
}

std::vector<int64_t> ranks_of_curve(Database& database, const std::string& run_id,
                                    const std::string& name) {
  std::vector<int64_t> out = reporting_ranks(database, run_id, name);
  Statement query = database.prepare("SELECT rank FROM series WHERE run_id = ? AND key = ?");
  query.add(run_id).add(name);
  while (query.next()) out.push_back(query.integer(0));
  sort_unique(out);
  return out;
}

}  // namespace rtrain::store
