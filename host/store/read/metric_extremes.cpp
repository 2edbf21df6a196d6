#include "host/store/read/metric_extremes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "host/base/text/text.h"
#include "host/store/series/series_pyramid.h"
#include "host/store/series/series_store.h"

namespace rtrain::store {
namespace {

constexpr size_t kMostKnown = 200'000;  // some 40 MB

void add(Extremes& extremes, double value) {
  if (!std::isfinite(value)) return;
  extremes.least = std::min(value, extremes.least.value_or(value));
  extremes.most = std::max(value, extremes.most.value_or(value));
  extremes.last = value;
}

Extremes reported(Database& database, const std::string& run_id, const std::string& metric) {
  Statement query = database.prepare(
      "SELECT value FROM (SELECT idx, metric_value(metrics, ?) AS value FROM reports WHERE run_id "
      "= ? AND rank = 0 AND superseded = 0) WHERE typeof(value) IN ('integer', 'real') ORDER BY "
      "idx");
  query.add(metric).add(run_id);
  Extremes out;
  while (query.next()) add(out, query.real(0));
  return out;
}

Extremes logged(Database& database, const std::string& run_id, const std::string& metric) {
  Statement query =
      database.prepare("SELECT series_id FROM series WHERE run_id = ? AND key = ? AND rank = 0");
  query.add(run_id).add(metric);
  std::vector<int64_t> series;
  while (query.next()) series.push_back(query.integer(0));
  Extremes out;
  if (series.size() != 1) {  // a later attempt may have logged steps again
    each_valid_point(database, run_id, metric, 0,
                     [&](const LoggedPoint& logged) { add(out, logged.point.value); });
    return out;
  }
  const SeriesSummary all = SeriesPyramid(database, series.front()).all();
  if (all.finite() == 0) return out;
  add(out, all.least.value);
  add(out, all.most.value);
  add(out, all.last.value);
  return out;
}

}  // namespace

Extremes MetricExtremes::of(Database& database, const std::string& run_id, int64_t updated_at,
                            const std::string& metric) {
  const std::string key = cat(metric, "\n", run_id);
  {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end() && found->second.updated_at == updated_at) {
      return found->second.extremes;
    }
  }
  Extremes out = reported(database, run_id, metric);
  if (!out.last) out = logged(database, run_id, metric);
  const std::scoped_lock lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_[key] = {.updated_at = updated_at, .extremes = out};
  return out;
}

}  // namespace rtrain::store
