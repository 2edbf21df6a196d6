#include "host/store/read/attempt_rows.h"

#include <map>
#include <string_view>
#include <utility>

#include "host/store/db/row_values.h"
#include "host/store/series/series_store.h"

namespace rtrain::store {
namespace {

// The nested map of that name, created if missing.
Map& map_in(Map& map, const std::string& name) {
  if (map.find(name) == nullptr) map.set(name, Map{});
  return map.find(name)->as_map();
}

// The series of a rank's datasets, grouped by dataset, with those of operators as a list in their
// order: a name may contain '/'.
Value times_of_datasets(const Map& values) {
  constexpr std::string_view kOperators = "/operators/";
  Map out;
  std::map<std::string, Map> operators;  // by dataset, then by place and name: "00 ReadRange"
  for (const auto& [key, value] : values) {
    const auto& whole = std::get<std::string>(key);
    const size_t end = whole.rfind('/');
    const std::string field = whole.substr(end + 1);
    const size_t at = whole.find(kOperators);
    if (at == std::string::npos) {
      map_in(out, whole.substr(0, end)).set(field, value);
      continue;
    }
    const size_t begin = at + kOperators.size();
    map_in(operators[whole.substr(0, at)], whole.substr(begin, end - begin)).set(field, value);
  }
  for (const auto& [name, each] : operators) {
    List rows;
    for (const auto& [place, fields] : each) {
      constexpr size_t kPlace = 3;  // length of "00 "
      Map row = fields.as_map();
      row.set("operator", std::get<std::string>(place).substr(kPlace));
      rows.push_back(std::move(row));
    }
    map_in(out, name).set("operators", std::move(rows));
  }
  return out;
}

// The mean over the workers that have the timing.
Value mean_timing(const List& workers) {
  Map sums;
  double count = 0;
  for (const Value& worker : workers) {
    if (worker["timing"].is_nil()) continue;
    ++count;
    for (const auto& [key, value] : worker["timing"].as_map()) {
      const Value* before = sums.find(std::get<std::string>(key));
      sums.set(key, value.as_float() + (before == nullptr ? 0 : before->as_float()));
    }
  }
  if (count == 0) return {};
  Map out;
  for (const auto& [key, value] : sums) out.set(key, value.as_float() / count);
  return out;
}

}  // namespace

List attempt_rows(Database& database, const std::string& run_id) {
  // An attempt without an end belongs to a live controller or to one that was lost.
  Statement query = database.prepare(
      "SELECT attempt, CASE WHEN a.ended_at IS NULL AND NOT run_is_live(name) THEN "
      "lost_status(name, run_id) ELSE a.status END, a.error, a.started_at, a.ended_at, a.heal_s "
      "FROM attempts AS a JOIN runs USING(run_id) WHERE run_id = ? ORDER BY attempt");
  query.add(run_id);
  Statement workers = database.prepare(
      "SELECT rank, pid, host, device, exit_code, signal FROM workers WHERE run_id = ? AND "
      "attempt = ? ORDER BY rank");
  const auto gpus = last_series_values(database, run_id, "gpu/");
  const auto data = last_series_values(database, run_id, "data/");
  const auto phases = last_series_values(database, run_id, "time/");
  const auto stragglers = last_series_values(database, run_id, "straggler/");
  List out;
  while (query.next()) {
    workers.reset();
    workers.add(run_id).add(query.integer(0));
    List rows;
    while (workers.next()) {
      const auto gpu = gpus.find({query.integer(0), workers.integer(0)});
      const auto times = data.find({query.integer(0), workers.integer(0)});
      const auto timing = phases.find({query.integer(0), workers.integer(0)});
      const auto slow = stragglers.find({query.integer(0), workers.integer(0)});
      rows.push_back(Map{{"rank", workers.integer(0)},
                         {"pid", workers.integer(1)},
                         {"host", workers.text(2)},
                         {"device", workers.text(3)},
                         {"gpu", gpu == gpus.end() ? Value() : Value(gpu->second)},
                         {"data", times == data.end() ? Value() : times_of_datasets(times->second)},
                         {"timing", timing == phases.end() ? Value() : Value(timing->second)},
                         {"lost_s", slow == stragglers.end() ? Value() : slow->second["lost_s"]},
                         {"exit_code", optional_value(workers.optional_integer(4))},
                         {"signal", optional_value(workers.optional_integer(5))}});
    }
    out.push_back(Map{{"attempt", query.integer(0)},
                      {"status", query.text(1)},
                      {"error", json_value(query.text(2))},
                      {"started_at", time_value(query.integer(3))},
                      {"ended_at", time_value(query.optional_integer(4))},
                      {"heal_s", query.is_null(5) ? Value() : Value(query.real(5))},
                      {"timing", mean_timing(rows)},
                      {"workers", std::move(rows)}});
  }
  return out;
}

}  // namespace rtrain::store
