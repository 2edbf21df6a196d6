#include "host/store/read/run_listing.h"

#include <string_view>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/db/row_values.h"
#include "host/store/db/stored_metrics.h"
#include "host/store/read/listing_columns.h"
#include "host/store/read/user_statement.h"

namespace rtrain::store {
namespace {

// The columns of one row per run; started_at and ended_at are still in milliseconds. A run waits
// from the start of its last controller to that controller's first attempt, and runs during its
// attempts. SQLite only computes the columns that a query names.
constexpr std::string_view kColumns = R"sql(
       name, runs.run_id AS run_id,
       CASE WHEN is_final(status) OR status = 'QUEUED' OR run_is_live(name) THEN status ELSE lost_status(name, runs.run_id) END AS status,
       num_workers, started_at, ended_at, (until - started_at) / 1000.0 AS duration_s,
       max(0, coalesce((SELECT min(a.started_at) FROM attempts AS a
                        WHERE a.run_id = runs.run_id AND a.started_at >= begun), until) - begun)
         / 1000.0 AS waiting_s,
       (SELECT total(max(0, coalesce(a.ended_at, until) - a.started_at)) FROM attempts AS a
        WHERE a.run_id = runs.run_id) / 1000.0 AS running_s,
       script, note, tags, config
)sql";

constexpr std::string_view kRuns = R"sql(
FROM (SELECT *, max(started_at, coalesce(ended_at, CASE WHEN status = 'QUEUED' OR run_is_live(name)
                THEN max(now_ms(), updated_at) ELSE updated_at END)) AS until, coalesce(json_extract(owner, '$.since'), started_at) AS begun
      FROM runs) AS runs
)sql";

// The columns after the times.
constexpr std::string_view kLastColumns =
    "duration_s, waiting_s, running_s, script, tags, metrics, nonfinite, archived";

// Formats a time for users.
std::string time_text_sql(std::string_view column) {
  return cat("strftime('%Y-%m-%dT%H:%M:%fZ', ", column, " / 1000.0, 'unixepoch') AS ", column);
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

// Reads the table's SQL, because a reader may not use table_info.
bool knows_archive(Database& database) {
  return database
      .prepare("SELECT 1 FROM sqlite_master WHERE name = 'runs' AND instr(sql, 'archived_at') > 0")
      .next();
}

// The condition for each tag of a run; for a run without tags, for NULL.
std::string with_each_tag(const std::string& condition) {
  return cat(
      "EXISTS (SELECT 1 FROM (SELECT value AS tag FROM json_each(tags) UNION ALL SELECT NULL "
      "WHERE tags = '[]') WHERE (",
      condition, "\n))");
}

}  // namespace

RunListing::RunListing(Database& database)
    : database_(database), knows_archive_(knows_archive(database)) {}

std::string RunListing::table() const {
  return cat("(SELECT ", kColumns, ", ", last_metrics_sql("metrics"), " AS metrics, ",
             last_metrics_sql("nonfinite"), " AS nonfinite, ",
             knows_archive_ ? "archived_at IS NOT NULL" : "0", " AS archived", kRuns, ")");
}

std::string RunListing::query_text(const RunFilter& filter, std::string_view selected) {
  ListingColumns columns(database_);
  std::vector<std::string> conditions;
  if (!filter.archived && knows_archive_) conditions.emplace_back("NOT archived");
  for (const std::string& tag : filter.tags) {
    conditions.push_back(
        cat("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ", in_quotes(tag, '\''), ")"));
  }
  if (const std::string where = columns.with_columns(filter.where); !where.empty()) {
    conditions.push_back(columns.names_tag() ? with_each_tag(where) : cat("(", where, "\n)"));
  }
  // "+" avoids the index: all runs are read, which is faster in table order.
  std::string order = "+started_ms DESC, name";
  if (!filter.sort.empty()) {
    const bool descending = filter.sort.front() == '-';
    const std::string key = filter.sort.substr(descending ? 1 : 0);
    const auto column = columns.find(key);
    if (!column) {
      throw Error(Code::kUsage,
                  cat("--sort: no column '", key, "'", suggestion(key, columns.all_names())));
    }
    order = cat(*column, " IS NULL, ", *column, descending ? " DESC" : "", ", name");
  }
  std::string sql =
      cat("WITH list AS (SELECT name, run_id, status, num_workers, started_at AS "
          "started_ms, ",
          time_text_sql("started_at"), ", ", time_text_sql("ended_at"),
          ", duration_s, waiting_s, running_s, script, note, tags, archived, metrics, "
          "nonfinite",
          columns.definitions(), " FROM ", table(), ") SELECT ", selected, " FROM list");
  if (!conditions.empty()) sql += cat(" WHERE ", join(conditions, " AND "));
  sql += cat(" ORDER BY ", order);
  if (filter.limit) sql += cat(" LIMIT ", *filter.limit, " OFFSET ", filter.offset);
  return sql;
}

template <class Use>
void RunListing::each(const RunFilter& filter, std::string_view columns, const Use& use) {
  const std::string sql = query_text(filter, columns);
  const UserLimits limits(database_, filter.time_limit_s);
  const bool is_users = !filter.where.empty() || filter.time_limit_s > 0;
  Statement query = is_users
                        ? user_statement(database_, sql, cat("--where ", filter.where),
                                         [this] { return ListingColumns(database_).all_names(); })
                        : database_.prepare(sql);
  while (query.next()) use(query);
}

std::vector<std::string> RunListing::ids(const RunFilter& filter) {
  std::vector<std::string> out;
  const auto add = [&](const Statement& row) { out.push_back(row.text(0)); };
  const bool is_plain = filter.where.empty() && filter.sort.empty() && filter.tags.empty();
  if (!is_plain || !filter.limit) {
    each(filter, "run_id", add);
    return out;
  }
  // For the newest few runs: an index gives them without reading the others.
  const char* condition = knows_archive_ && !filter.archived ? "WHERE archived_at IS NULL" : "";
  Statement query = database_.prepare(cat("SELECT run_id FROM runs ", condition,
                                          " ORDER BY started_at DESC, name LIMIT ? OFFSET ?"));
  query.add(*filter.limit).add(filter.offset);
  while (query.next()) add(query);
  return out;
}

int64_t RunListing::count(RunFilter filter) {
  filter.limit.reset();
  filter.sort.clear();
  int64_t out = 0;
  each(filter, "count(*)", [&](const Statement& row) { out = row.integer(0); });
  return out;
}

Map RunListing::count_by_status() {
  Statement query =
      database_.prepare(cat("SELECT status, count(*) FROM ", table(), " GROUP BY status"));
  Map out;
  while (query.next()) out.set(query.text(0), query.integer(1));
  return out;
}

List RunListing::tags() {
  Statement query = database_.prepare(
      "SELECT value, count(*), max(started_at) FROM runs, json_each(tags) GROUP BY value "
      "ORDER BY max(started_at) DESC, value");
  List out;
  while (query.next()) {
    out.push_back(Map{{"tag", query.text(0)},
                      {"runs", query.integer(1)},
                      {"started_at", time_value(query.optional_integer(2))}});
  }
  return out;
}

Statement RunListing::row_query() {
  return database_.prepare(cat("SELECT name, run_id, status, num_workers, ",
                               time_text_sql("started_at"), ", ", time_text_sql("ended_at"), ", ",
                               kLastColumns, " FROM ", table(), " WHERE run_id = ?"));
}

List RunListing::rows(const RunFilter& filter) {
  List out;
  const auto add = [&](const Statement& row) {
    out.push_back(row_of_run(row));
    if (filter.archived) out.back().as_map().set("archived", row.integer(13) != 0);
  };
  if (!filter.limit) {
    each(filter, cat("name, run_id, status, num_workers, started_at, ended_at, ", kLastColumns),
         add);
    return out;
  }
  // A second query for the columns, because SQLite would otherwise compute them for all sorted
  // runs.
  Statement query = row_query();
  for (const std::string& id : ids(filter)) {
    query.reset();
    if (query.add(id).next()) add(query);  // otherwise the run was removed meanwhile
  }
  return out;
}

bool RunListing::is_archived(const std::string& run_id) {
  Statement query = database_.prepare(cat("SELECT archived FROM ", table(), " WHERE run_id = ?"));
  return query.add(run_id).next() && query.integer(0) != 0;
}

Value RunListing::row(const std::string& run_id) {
  Statement query = row_query();
  if (!query.add(run_id).next()) {
    throw Error(Code::kUsage, cat("the run ", run_id, " was just removed"));
  }
  return row_of_run(query);
}

}  // namespace rtrain::store
