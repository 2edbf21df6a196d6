#include "host/store/run_listing.h"

#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/store/row_values.h"
#include "host/store/sql_names.h"
#include "host/store/stored_metrics.h"
#include "host/store/user_statement.h"

namespace rtrain {
namespace {

// One row for each run; started_at and ended_at still in milliseconds. It waits from the start of
// its last controller to that one's first attempt, and runs while an attempt does.
constexpr std::string_view kRuns = R"sql(
SELECT name, runs.run_id AS run_id,
       CASE WHEN is_final(status) OR status = 'QUEUED' OR run_is_live(name) THEN status ELSE 'LOST' END AS status,
       num_workers, started_at, ended_at, (until - started_at) / 1000.0 AS duration_s,
       max(0, coalesce((SELECT min(a.started_at) FROM attempts AS a
                        WHERE a.run_id = runs.run_id AND a.started_at >= begun), until) - begun)
         / 1000.0 AS waiting_s,
       (SELECT total(max(0, coalesce(a.ended_at, until) - a.started_at)) FROM attempts AS a
        WHERE a.run_id = runs.run_id) / 1000.0 AS running_s,
       script, note, tags, r.metrics AS metrics, r.nonfinite AS nonfinite
FROM (SELECT *, max(started_at, coalesce(ended_at, CASE WHEN status = 'QUEUED' OR run_is_live(name)
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

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The metrics that an expression names, as columns of the list. SQLite would take loss and Loss for
// one column, and has room for 2,000.
class MetricColumns {
 public:
  MetricColumns(Database& database, std::vector<std::string> metrics)
      : database_(database), metrics_(std::move(metrics)) {}

  // The column of that name, as SQL writes it: the very name first, else the one that differs in
  // case only. Nothing when there is none.
  std::optional<std::string> find(const std::string& name) {
    if (has_name(run_columns(), name)) return in_quotes(name, '"');
    if (std::binary_search(metrics_.begin(), metrics_.end(), name)) return column_of(name);
    std::vector<std::string> found;
    for (const std::string& known : all_names()) {
      if (sqlite3_stricmp(known.c_str(), name.c_str()) == 0) found.push_back(known);
    }
    if (found.empty()) return std::nullopt;
    if (found.size() == 1) return find(found.front());
    throw Error(Code::kUsage,
                cat("'", name, "' may be ", join(found, " or "), ": write one of them"));
  }

  // The expression with the columns in the names' places.
  std::string with_columns(const std::string& expression) {
    std::string out;
    size_t done = 0;
    for (const SqlName& name : names_in_sql(expression)) {
      if (!is_name(name)) continue;
      const auto column = find(name.name);
      if (!column) continue;
      out += cat(expression.substr(done, name.begin - done), *column);
      done = name.end;
    }
    return out + expression.substr(done);
  }

  // ", json_extract(…) AS "metric 1"", of those that were found.
  const std::string& definitions() const { return definitions_; }

  std::vector<std::string> all_names() const {
    std::vector<std::string> names = run_columns();
    names.insert(names.end(), metrics_.begin(), metrics_.end());
    return names;
  }

 private:
  std::string column_of(const std::string& metric) {
    const auto [place, is_new] = columns_.try_emplace(metric);
    if (is_new) {
      place->second = in_quotes(cat("metric ", columns_.size()), '"');
      definitions_ += cat(", json_extract(metrics, ", in_quotes(cat("$.\"", metric, "\""), '\''),
                          ") AS ", place->second);
    }
    return place->second;
  }

  // What SQLite takes for a column where there is one of that name, be it a keyword elsewhere.
  bool is_name(const SqlName& name) {
    if (name.quoted) return true;
    const auto size = static_cast<int>(name.name.size());
    if (sqlite3_keyword_check(name.name.c_str(), size) == 0) return true;
    sqlite3_stmt* statement = nullptr;
    const std::string sql = cat("SELECT ", name.name, " FROM (SELECT 7 AS \"", name.name, "\")");
    sqlite3_prepare_v2(database_.handle(), sql.c_str(), -1, &statement, nullptr);
    const bool is_seven =
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 7;
    sqlite3_finalize(statement);
    return is_seven;
  }

  Database& database_;
  std::vector<std::string> metrics_;  // sorted
  std::map<std::string, std::string> columns_;
  std::string definitions_;
};

}  // namespace

std::vector<std::string> RunListing::metric_names() {
  Statement query = database_.prepare(
      cat("SELECT DISTINCT key FROM (", kRuns, ") AS list, json_each(list.metrics) ORDER BY key"));
  std::vector<std::string> names;
  while (query.next()) {
    std::string name = query.text(0);
    if (name.find('"') == std::string::npos && !has_name(run_columns(), name)) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::string RunListing::query_text(const RunFilter& filter) {
  MetricColumns columns(database_, filter.where.empty() && filter.sort.empty()
                                       ? std::vector<std::string>()
                                       : metric_names());
  const std::string where = columns.with_columns(filter.where);
  const bool descending = filter.sort.empty() || filter.sort.front() == '-';
  const std::string key =
      filter.sort.empty() ? "started_at" : filter.sort.substr(descending ? 1 : 0);
  const auto column = columns.find(key);
  if (!column) {
    throw Error(Code::kUsage,
                cat("--sort: no column '", key, "'", suggestion(key, columns.all_names())));
  }
  constexpr std::string_view kTimes =
      "strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at, "
      "strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') AS ended_at";
  std::string sql =
      cat("WITH list AS (SELECT name, run_id, status, num_workers, ", kTimes,
          ", duration_s, waiting_s, running_s, script, note, tags, metrics, nonfinite",
          columns.definitions(), " FROM (", kRuns,
          ")) SELECT name, run_id, status, num_workers, started_at, ended_at, duration_s, "
          "waiting_s, running_s, script, tags, metrics, nonfinite FROM list");
  if (!where.empty()) sql += cat(" WHERE (", where, "\n)");
  sql += cat(" ORDER BY ", *column, " IS NULL, ", *column, descending ? " DESC" : "", ", name");
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
    const std::vector<std::string> columns = MetricColumns(database_, metric_names()).all_names();
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
