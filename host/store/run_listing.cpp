#include "host/store/run_listing.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/store/row_values.h"
#include "host/store/stored_metrics.h"
#include "host/store/user_statement.h"

namespace rtrain {
namespace {

// One row for each run; started_at and ended_at still in milliseconds. It waits from the start of
// its last controller to that one's first attempt, and runs while an attempt does.
constexpr std::string_view kRuns = R"sql(
SELECT name, runs.run_id AS run_id,
       CASE WHEN is_final(status) OR run_is_live(name) THEN status ELSE 'LOST' END AS status,
       num_workers, started_at, ended_at, (until - started_at) / 1000.0 AS duration_s,
       max(0, coalesce((SELECT min(a.started_at) FROM attempts AS a
                        WHERE a.run_id = runs.run_id AND a.started_at >= begun), until) - begun)
         / 1000.0 AS waiting_s,
       (SELECT total(max(0, coalesce(a.ended_at, until) - a.started_at)) FROM attempts AS a
        WHERE a.run_id = runs.run_id) / 1000.0 AS running_s,
       script, note, tags, r.metrics AS metrics, r.nonfinite AS nonfinite
FROM (SELECT *, max(started_at, coalesce(ended_at, CASE WHEN run_is_live(name)
                THEN max(now_ms(), updated_at) ELSE updated_at END)) AS until, coalesce(json_extract(owner, '$.since'), started_at) AS begun
      FROM runs) AS runs LEFT JOIN reports AS r ON r.run_id = runs.run_id AND r.rank = 0 AND r.superseded = 0 AND
     r.idx = (SELECT max(idx) FROM reports AS l
              WHERE l.run_id = runs.run_id AND l.rank = 0 AND l.superseded = 0)
)sql";

const std::vector<std::string>& run_columns() {
  static const std::vector<std::string> columns = {
      "name",      "run_id",    "status", "num_workers", "started_at", "ended_at", "duration_s",
      "waiting_s", "running_s", "script", "note",        "tags",       "metrics"};
  return columns;
}

std::string in_quotes(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out += c;
    if (c == quote) out += c;
  }
  return out + quote;
}

Value row_of_run(const Statement& row) {
  const std::string metrics = row.text(11);
  return Map{{"name", row.text(0)},
             {"run_id", row.text(1)},
             {"status", row.text(2)},
             {"num_workers", row.integer(3)},
             {"started_at", cell_value(row, 4)},
             {"ended_at", cell_value(row, 5)},
             {"duration_s", row.real(6)},
             {"waiting_s", row.real(7)},
             {"running_s", row.real(8)},
             {"script", row.text(9)},
             {"metrics", metrics.empty() ? Value(Map{}) : load_metrics(metrics, row.text(12))},
             {"tags", json_value(row.text(10))}};
}

}  // namespace

std::vector<std::string> RunListing::metric_names() {
  Statement query = database_.prepare(
      cat("SELECT DISTINCT key FROM (", kRuns, ") AS list, json_each(list.metrics) ORDER BY key"));
  std::vector<std::string> names;
  while (query.next()) {
    const std::string name = query.text(0);
    const auto& own = run_columns();
    const bool usable = name.find('"') == std::string::npos;
    if (usable && std::find(own.begin(), own.end(), name) == own.end()) names.push_back(name);
  }
  return names;
}

std::string RunListing::query_text(const RunFilter& filter) {
  std::vector<std::string> columns = run_columns();
  std::string metrics;
  if (!filter.where.empty() || !filter.sort.empty()) {
    for (const std::string& name : metric_names()) {
      metrics += cat(", json_extract(metrics, ", in_quotes(cat("$.\"", name, "\""), '\''), ") AS ",
                     in_quotes(name, '"'));
      columns.push_back(name);
    }
  }
  constexpr std::string_view kTimes =
      "strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at, "
      "strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') AS ended_at";
  std::string sql =
      cat("WITH list AS (SELECT name, run_id, status, num_workers, ", kTimes,
          ", duration_s, waiting_s, running_s, script, note, tags, metrics, nonfinite", metrics,
          " FROM (", kRuns,
          ")) SELECT name, run_id, status, num_workers, started_at, ended_at, duration_s, "
          "waiting_s, running_s, script, tags, metrics, nonfinite FROM list");
  if (!filter.where.empty()) sql += cat(" WHERE (", filter.where, "\n)");
  const bool descending = filter.sort.empty() || filter.sort.front() == '-';
  const std::string key =
      filter.sort.empty() ? "started_at" : filter.sort.substr(descending ? 1 : 0);
  if (std::find(columns.begin(), columns.end(), key) == columns.end()) {
    throw Error(Code::kUsage, cat("--sort: no column '", key, "'", suggestion(key, columns)));
  }
  const std::string column = in_quotes(key, '"');
  sql += cat(" ORDER BY ", column, " IS NULL, ", column, descending ? " DESC" : "", ", name");
  if (filter.limit) sql += cat(" LIMIT ", *filter.limit);
  return sql;
}

List RunListing::rows(const RunFilter& filter) {
  const std::string sql = query_text(filter);
  List out;
  try {
    Statement query = user_statement(database_, sql, cat("--where ", filter.where));
    while (query.next()) out.push_back(row_of_run(query));
  } catch (const Error& e) {
    constexpr std::string_view kNoColumn = "no such column: ";
    const size_t found = e.message().rfind(kNoColumn);
    if (e.code() != Code::kUsage || found == std::string::npos) throw;
    std::vector<std::string> columns = run_columns();
    for (std::string& name : metric_names()) columns.push_back(std::move(name));
    const std::string name = e.message().substr(found + kNoColumn.size());
    throw Error(Code::kUsage, cat(e.message(), suggestion(name, columns)));
  }
  return out;
}

Value RunListing::row(const std::string& run_id) {
  List found = rows({.where = cat("run_id = ", in_quotes(run_id, '\'')), .sort = {}, .limit = {}});
  RT_CHECK(found.size() == 1);
  return std::move(found.front());
}

}  // namespace rtrain
