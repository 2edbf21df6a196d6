#include "host/store/read/run_progress.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "host/store/db/stored_metrics.h"
#include "host/store/series/series_chunk.h"
#include "host/store/series/series_store.h"

namespace rtrain::store {
namespace {

constexpr int64_t kRateReports = 10;  // number of reports that the rate covers

int64_t last_attempt(Database& database, const std::string& run_id) {
  Statement query = database.prepare("SELECT max(attempt) FROM attempts WHERE run_id = ?");
  query.add(run_id).next();
  return query.optional_integer(0).value_or(0);
}

int64_t count_reports(Database& database, const std::string& run_id) {
  // Indices count from 0 over the whole run.
  Statement query = database.prepare(
      "SELECT max(idx) + 1 FROM reports WHERE run_id = ? AND rank = 0 AND superseded = 0");
  query.add(run_id).next();
  return query.optional_integer(0).value_or(0);
}

// Uses only the last attempt, so that restarts do not lower the rate.
Value reports_per_s(Database& database, const std::string& run_id, int64_t attempt) {
  Statement query = database.prepare(
      "SELECT count(*), min(time), max(time) FROM (SELECT time FROM reports WHERE run_id = ? AND "
      "rank = 0 AND attempt = ? ORDER BY idx DESC LIMIT ?)");
  query.add(run_id).add(attempt).add(kRateReports).next();
  const int64_t count = query.integer(0);
  if (count < 2 || query.integer(2) <= query.integer(1)) return {};
  constexpr double kMsPerSecond = 1000;
  return static_cast<double>(count - 1) * kMsPerSecond /
         static_cast<double>(query.integer(2) - query.integer(1));
}

// Prefixes of the series that rtrain itself records.
bool is_of_rtrain(const std::string& key) {
  constexpr std::string_view kPrefixes[] = {"data/",    "gpu/",       "host/",
                                            "process/", "straggler/", "time/"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return key.starts_with(prefix); });
}

Map newest_logged(Database& database, const std::string& run_id, int64_t attempt) {
  Statement query = database.prepare(
      "SELECT key, last_step, data FROM series JOIN series_chunks AS c USING(series_id) "
      "WHERE run_id = ? AND attempt = ? AND number = (SELECT max(number) FROM series_chunks WHERE "
      "series_id = c.series_id) ORDER BY key, rank");
  query.add(run_id).add(attempt);
  Map out;
  int64_t step = -1;
  while (query.next()) {
    const std::string key = query.text(0);
    if (is_of_rtrain(key) || out.find(key) != nullptr) continue;
    const std::vector<SeriesPoint> points = decode_series(query.blob(2));
    if (points.empty()) continue;
    step = std::max(step, query.integer(1));
    out.set(key, points.back().value);
  }
  if (step >= 0 && out.find("step") == nullptr) out.set("step", step);
  return out;
}

// The name of the newest checkpoint that exists; nil without one.
Value last_checkpoint(Database& database, const std::string& run_id) {
  Statement query = database.prepare(
      "SELECT name FROM checkpoints WHERE run_id = ? AND state = 'kept' ORDER BY checkpoint_id "
      "DESC LIMIT 1");
  return query.add(run_id).next() ? Value(query.text(0)) : Value();
}

Value last_metrics(Database& database, const std::string& run_id, int64_t rank) {
  Statement query = database.prepare(
      "SELECT metrics, nonfinite FROM reports WHERE run_id = ? AND rank = ? AND superseded = 0 "
      "ORDER BY idx DESC LIMIT 1");
  query.add(run_id).add(rank);
  return query.next() ? load_metrics(query.text(0), query.text(1)) : Value(Map{});
}

List ranks_of(Database& database, const std::string& run_id, int64_t attempt) {
  Statement query = database.prepare(
      "SELECT rank, pid, host, device, exit_code IS NOT NULL OR signal IS NOT NULL FROM workers "
      "WHERE run_id = ? AND attempt = ? ORDER BY rank");
  query.add(run_id).add(attempt);
  const auto gpus = last_series_values(database, run_id, "gpu/");
  const auto stragglers = last_series_values(database, run_id, "straggler/");
  const auto lost_s = [&](int64_t rank) {
    const auto found = stragglers.find({attempt, rank});
    return found == stragglers.end() ? Value() : Value(found->second)["lost_s"];
  };
  List out;
  while (query.next()) {
    const auto gpu = gpus.find({attempt, query.integer(0)});
    out.push_back(Map{{"rank", query.integer(0)},
                      {"pid", query.integer(1)},
                      {"host", query.text(2)},
                      {"device", query.text(3)},
                      {"is_over", query.integer(4) != 0},
                      {"gpu", gpu == gpus.end() ? Value() : Value(gpu->second)},
                      {"lost_s", lost_s(query.integer(0))},
                      {"metrics", last_metrics(database, run_id, query.integer(0))}});
  }
  return out;
}

}  // namespace

Map read_progress(Database& database, const std::string& run_id) {
  const int64_t attempt = last_attempt(database, run_id);
  return {{"attempt", attempt},
          {"reports", count_reports(database, run_id)},
          {"reports_per_s", reports_per_s(database, run_id, attempt)},
          {"logged", newest_logged(database, run_id, attempt)},
          {"last_checkpoint", last_checkpoint(database, run_id)},
          {"ranks", ranks_of(database, run_id, attempt)}};
}

}  // namespace rtrain::store
