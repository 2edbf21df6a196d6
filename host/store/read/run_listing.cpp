#include "host/store/read/run_listing.h"

#include <string_view>
#include <utility>

#include "host/base/codec/json.h"
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
       script, note, tags, config, updated_at, json_extract(environment, '$.hostname') AS hostname,
       json_extract(environment, '$.git_commit') AS git_commit
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

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::string& word : split(text, ' ')) {
    if (!word.empty()) out.push_back(std::move(word));
  }
  return out;
}

// The condition that a run has the word somewhere.
std::string with_word(const std::string& word) {
  std::string pattern = "%";
  for (const char c : word) {
    if (c == '%' || c == '_' || c == '\\') pattern += '\\';
    pattern += c;
  }
  std::vector<std::string> conditions;
  for (const char* column : {"name", "note", "tags", "config_text"}) {
    conditions.push_back(cat(column, " LIKE ", in_quotes(pattern + "%", '\''), " ESCAPE '\\'"));
  }
  return cat("(", join(conditions, " OR "), ")");
}

std::string sql_value(const Value& value) {
  if (value.is_nil()) return "NULL";
  return value.is_string() ? in_quotes(value.as_string(), '\'') : to_json(value);
}

Error unknown_column(std::string_view option, const std::string& name, ListingColumns& columns) {
  return Error(Code::kUsage,
               cat(option, ": no column '", name, "'", suggestion(name, columns.all_names())));
}

// Whether all runs match, or all that are not archived.
bool is_plain(const RunFilter& filter) {
  return filter.where.empty() && filter.tags.empty() && filter.statuses.empty() &&
         filter.text.empty() && filter.values.empty();
}

// ", "metric 1", NULL": the columns of those names, for SELECT.
std::string selected_cells(ListingColumns& columns, const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += cat(", ", columns.find(name).value_or("NULL"));
  return out;
}

// The values behind the first one.
List cells_of(const Statement& row) {
  List out;
  for (int i = 1; i < row.columns(); ++i) out.push_back(cell_value(row, i));
  return out;
}

}  // namespace

RunListing::RunListing(Database& database)
    : database_(database), knows_archive_(knows_archive(database)) {}

std::string RunListing::table() const {
  return cat("(SELECT ", kColumns, ", ", last_metrics_sql("metrics"), " AS metrics, ",
             last_metrics_sql("nonfinite"), " AS nonfinite, ",
             knows_archive_ ? "archived_at IS NOT NULL" : "0", " AS archived", kRuns, ")");
}

std::string RunListing::list(const ListingColumns& columns) const {
  return cat("WITH list AS (SELECT name, run_id, status, num_workers, started_at AS started_ms, ",
             time_text_sql("started_at"), ", ", time_text_sql("ended_at"),
             ", duration_s, waiting_s, running_s, script, note, tags, archived, metrics, "
             "nonfinite, hostname, git_commit, config AS config_text",
             columns.definitions(), " FROM ", table(), ") ");
}

std::string RunListing::conditions(const RunFilter& filter, ListingColumns& columns) {
  std::vector<std::string> conditions;
  if (!filter.archived && knows_archive_) conditions.emplace_back("NOT archived");
  for (const std::string& tag : filter.tags) {
    conditions.push_back(
        cat("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ", in_quotes(tag, '\''), ")"));
  }
  if (!filter.statuses.empty()) {
    std::vector<std::string> quoted;
    for (const std::string& status : filter.statuses) quoted.push_back(in_quotes(status, '\''));
    conditions.push_back(cat("status IN (", join(quoted, ", "), ")"));
  }
  for (const std::string& word : words_of(filter.text)) conditions.push_back(with_word(word));
  for (const auto& [name, value] : filter.values) {
    const auto column = columns.find(name);
    if (!column) throw unknown_column("value", name, columns);
    conditions.push_back(cat(*column, " IS ", sql_value(value)));
  }
  if (const std::string where = columns.with_columns(filter.where); !where.empty()) {
    conditions.push_back(columns.names_tag() ? with_each_tag(where) : cat("(", where, "\n)"));
  }
  return conditions.empty() ? "" : cat(" WHERE ", join(conditions, " AND "));
}

std::string RunListing::query_text(const RunFilter& filter, ListingColumns& columns,
                                   std::string_view selected) {
  const std::string where = conditions(filter, columns);
  // "+" avoids the index: all runs are read, which is faster in table order.
  std::string order = "+started_ms DESC, name";
  if (!filter.sort.empty()) {
    const bool descending = filter.sort.front() == '-';
    const std::string key = filter.sort.substr(descending ? 1 : 0);
    const auto column = columns.find(key);
    if (!column) throw unknown_column("--sort", key, columns);
    order = cat(*column, " IS NULL, ", *column, descending ? " DESC" : "", ", name");
  }
  std::string sql =
      cat(list(columns), "SELECT ", selected, " FROM list", where, " ORDER BY ", order);
  if (filter.limit) sql += cat(" LIMIT ", *filter.limit, " OFFSET ", filter.offset);
  return sql;
}

template <class Use>
void RunListing::each(const RunFilter& filter, ListingColumns& columns, std::string_view selected,
                      const Use& use) {
  const std::string sql = query_text(filter, columns, selected);
  const UserLimits limits(database_, filter.time_limit_s);
  const bool is_users = !filter.where.empty() || filter.time_limit_s > 0;
  Statement query = is_users
                        ? user_statement(database_, sql, cat("--where ", filter.where),
                                         [this] { return ListingColumns(database_).all_names(); })
                        : database_.prepare(sql);
  while (query.next()) use(query);
}

std::vector<std::string> RunListing::ids(const RunFilter& filter) {
  ListingColumns columns(database_);
  std::vector<std::string> out;
  const auto add = [&](const Statement& row) { out.push_back(row.text(0)); };
  if (!is_plain(filter) || !filter.sort.empty() || !filter.limit) {
    each(filter, columns, "run_id", add);
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
  ListingColumns columns(database_);
  int64_t out = 0;
  const auto add = [&](const Statement& row) { out = row.integer(0); };
  if (!is_plain(filter)) {
    each(filter, columns, "count(*)", add);
    return out;
  }
  const char* condition = knows_archive_ && !filter.archived ? " WHERE archived_at IS NULL" : "";
  Statement query = database_.prepare(cat("SELECT count(*) FROM runs", condition));
  query.next();
  add(query);
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

List RunListing::cells(const List& ids, const std::vector<std::string>& names) {
  ListingColumns columns(database_);
  const std::string selected = selected_cells(columns, names);
  Statement query = database_.prepare(
      cat(list(columns), "SELECT run_id", selected, " FROM list WHERE run_id = ?"));
  List out;
  for (const Value& id : ids) {
    query.reset();
    List values(names.size());
    if (query.add(id.as_string()).next()) values = cells_of(query);
    out.emplace_back(std::move(values));
  }
  return out;
}

void RunListing::check_names(std::string_view option, const std::vector<std::string>& names) {
  ListingColumns columns(database_);
  for (const std::string& name : names) {
    if (!columns.find(name)) throw unknown_column(option, name, columns);
  }
}

void RunListing::each_cells(const RunFilter& filter, const std::vector<std::string>& names,
                            const std::function<void(const List& cells)>& see) {
  ListingColumns columns(database_);
  const std::string selected = selected_cells(columns, names);
  each(filter, columns, cat("run_id", selected), [&](const Statement& row) { see(cells_of(row)); });
}

List RunListing::rows(const RunFilter& filter) {
  ListingColumns columns(database_);
  List out;
  const auto add = [&](const Statement& row) {
    out.push_back(row_of_run(row));
    if (filter.archived) out.back().as_map().set("archived", row.integer(13) != 0);
  };
  if (!filter.limit) {
    each(filter, columns,
         cat("name, run_id, status, num_workers, started_at, ended_at, ", kLastColumns), add);
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
