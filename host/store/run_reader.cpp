#include "host/store/run_reader.h"

#include <sqlite3.h>

#include <algorithm>
#include <map>

#include "host/base/clock.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/store/annotation_store.h"
#include "host/store/file.h"
#include "host/store/retention.h"
#include "host/store/run_lock.h"
#include "host/store/run_status.h"
#include "host/store/schema.h"
#include "host/store/series_store.h"
#include "host/store/stored_metrics.h"

namespace rtrain {
namespace {

// One row for each run; started_at and ended_at still in milliseconds.
constexpr std::string_view kRuns = R"sql(
SELECT name, runs.run_id AS run_id,
       CASE WHEN is_final(status) OR run_is_live(name) THEN status ELSE 'LOST' END AS status,
       num_workers, started_at, ended_at,
       (coalesce(ended_at, CASE WHEN run_is_live(name) THEN now_ms() ELSE updated_at END)
        - started_at) / 1000.0 AS duration_s,
       script, note, tags, r.metrics AS metrics, r.nonfinite AS nonfinite
FROM runs LEFT JOIN reports AS r ON r.run_id = runs.run_id AND r.rank = 0 AND r.superseded = 0 AND
     r.idx = (SELECT max(idx) FROM reports AS l
              WHERE l.run_id = runs.run_id AND l.rank = 0 AND l.superseded = 0)
)sql";

const std::vector<std::string>& run_columns() {
  static const std::vector<std::string> columns = {
      "name",       "run_id", "status", "num_workers", "started_at", "ended_at",
      "duration_s", "script", "note",   "tags",        "metrics"};
  return columns;
}

std::string quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out += c;
    if (c == quote) out += c;
  }
  return out + quote;
}

Error usage(std::string text) { return Error(Code::kUsage, std::move(text)); }

Value time_value(std::optional<int64_t> time_ms) {
  if (!time_ms) return {};
  return time_text(*time_ms);
}

Value json_value(const std::string& text) { return text.empty() ? Value() : from_json(text); }

Value optional_value(std::optional<int64_t> number) { return number ? Value(*number) : Value(); }

Value cell_value(const Statement& row, int column) {
  switch (row.type(column)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
      return row.integer(column);
    case SQLITE_FLOAT:
      return row.real(column);
    default:
      return row.text(column);
  }
}

void sql_run_is_live(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* storage = static_cast<const std::string*>(sqlite3_user_data(context));
  const auto* name = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  bool live = false;
  try {
    live = name != nullptr && RunLock::is_held(cat(*storage, "/", std::string_view(name)));
  } catch (const Error&) {
    live = true;  // a lock that cannot be looked at proves nothing
  }
  sqlite3_result_int(context, live ? 1 : 0);
}

void sql_is_final(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* status = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  sqlite3_result_int(context, status != nullptr && is_final_status(status) ? 1 : 0);
}

void sql_now_ms(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_int64(context, now_ms());
}

}  // namespace

RunReader::RunReader(Database database, std::string storage_path)
    : database_(std::move(database)),
      storage_path_(std::make_unique<std::string>(std::move(storage_path))) {
  sqlite3_create_function_v2(database_.handle(), "run_is_live", 1, SQLITE_UTF8, storage_path_.get(),
                             &sql_run_is_live, nullptr, nullptr, nullptr);
  sqlite3_create_function_v2(database_.handle(), "is_final", 1, SQLITE_UTF8, nullptr, &sql_is_final,
                             nullptr, nullptr, nullptr);
  sqlite3_create_function_v2(database_.handle(), "now_ms", 0, SQLITE_UTF8, nullptr, &sql_now_ms,
                             nullptr, nullptr, nullptr);
  database_.allow_reads_only();
}

std::optional<RunReader> RunReader::open(const std::string& storage_path) {
  std::optional<Database> database = Database::open_read_only(storage_path + "/rtrain.db");
  if (!database) return std::nullopt;
  check_is_store(*database);
  Statement tables = database->prepare("SELECT 1 FROM sqlite_master WHERE name = 'runs'");
  if (!tables.next()) return std::nullopt;  // a controller is just making it
  return RunReader(std::move(*database), storage_path);
}

OpenRun RunReader::open_run(const std::string& storage_path, const std::string& run) {
  std::optional<RunReader> reader = open(storage_path);
  if (!reader) {
    throw usage(cat("no run '", run, "': there are no runs in ", storage_path,
                    " yet (--storage or RTRAIN_STORAGE names another place)"));
  }
  RunRef ref = reader->find(run);
  return {std::move(*reader), std::move(ref)};
}

Value OpenRun::everything() {
  Map out = reader.run(ref).as_map();
  const Value details = reader.details(ref);
  for (const auto& [key, value] : details.as_map()) out.set(key, value);
  return out;
}

RunRef RunReader::find(const std::string& run) {
  Statement query =
      database_.prepare("SELECT name, run_id FROM runs ORDER BY started_at DESC, name");
  std::vector<RunRef> matches;
  std::vector<std::string> names;
  while (query.next()) {
    RunRef ref{query.text(1), query.text(0), cat(*storage_path_, "/", query.text(0))};
    if (ref.name == run || ref.run_id == run || run == "last") return ref;
    names.push_back(ref.name);
    const bool begins = ref.name.starts_with(run) || ref.run_id.starts_with(run);
    if (begins && !run.empty()) matches.push_back(std::move(ref));
  }
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) {
    throw usage(cat("no run '", run, "' in ", *storage_path_, suggestion(run, names)));
  }
  names.clear();
  for (const RunRef& match : matches) names.push_back(match.name);
  throw usage(
      cat("'", run, "' is the beginning of ", matches.size(), " runs: ", join(names, ", ")));
}

std::vector<std::string> RunReader::metric_names() {
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

std::string RunReader::list_query(const RunFilter& filter) {
  std::vector<std::string> columns = run_columns();
  std::string metrics;
  if (!filter.where.empty() || !filter.sort.empty()) {
    for (const std::string& name : metric_names()) {
      metrics += cat(", json_extract(metrics, ", quoted(cat("$.\"", name, "\""), '\''), ") AS ",
                     quoted(name, '"'));
      columns.push_back(name);
    }
  }
  constexpr std::string_view kTimes =
      "strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at, "
      "strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') AS ended_at";
  std::string sql =
      cat("WITH list AS (SELECT name, run_id, status, num_workers, ", kTimes,
          ", duration_s, script, note, tags, metrics, nonfinite", metrics, " FROM (", kRuns,
          ")) SELECT name, run_id, status, num_workers, started_at, ended_at, duration_s, script, "
          "tags, metrics, nonfinite FROM list");
  if (!filter.where.empty()) sql += cat(" WHERE (", filter.where, "\n)");
  const bool descending = filter.sort.empty() || filter.sort.front() == '-';
  const std::string key =
      filter.sort.empty() ? "started_at" : filter.sort.substr(descending ? 1 : 0);
  if (std::find(columns.begin(), columns.end(), key) == columns.end()) {
    throw usage(cat("--sort: no column '", key, "'", suggestion(key, columns)));
  }
  const std::string column = quoted(key, '"');
  sql += cat(" ORDER BY ", column, " IS NULL, ", column, descending ? " DESC" : "", ", name");
  if (filter.limit) sql += cat(" LIMIT ", *filter.limit);
  return sql;
}

Value RunReader::row_of_run(Statement& row) {
  const std::string metrics = row.text(9);
  return Map{{"name", row.text(0)},
             {"run_id", row.text(1)},
             {"status", row.text(2)},
             {"num_workers", row.integer(3)},
             {"started_at", cell_value(row, 4)},
             {"ended_at", cell_value(row, 5)},
             {"duration_s", row.real(6)},
             {"script", row.text(7)},
             {"metrics", metrics.empty() ? Value(Map{}) : load_metrics(metrics, row.text(10))},
             {"tags", json_value(row.text(8))}};
}

Statement RunReader::user_statement(const std::string& sql, const std::string& what) {
  try {
    Statement statement = database_.prepare(sql);
    if (statement.is_read_only()) return statement;
  } catch (const Error& e) {
    if (e.code() != Code::kInternal) throw;
    const int code = sqlite3_errcode(database_.handle());
    if (code == SQLITE_OK) throw usage(cat(what, ": ", e.message()));
    if (code != SQLITE_AUTH) {
      throw usage(cat(what, ": ", std::string_view(sqlite3_errmsg(database_.handle()))));
    }
  }
  throw usage(cat(what, ": nothing but reading is allowed"));
}

List RunReader::runs(const RunFilter& filter) {
  const std::string sql = list_query(filter);
  List out;
  try {
    Statement query = user_statement(sql, cat("--where ", filter.where));
    while (query.next()) out.push_back(row_of_run(query));
  } catch (const Error& e) {
    constexpr std::string_view kNoColumn = "no such column: ";
    const size_t found = e.message().rfind(kNoColumn);
    if (e.code() != Code::kUsage || found == std::string::npos) throw;
    std::vector<std::string> columns = run_columns();
    for (std::string& name : metric_names()) columns.push_back(std::move(name));
    const std::string name = e.message().substr(found + kNoColumn.size());
    throw usage(cat(e.message(), suggestion(name, columns)));
  }
  return out;
}

List RunReader::attempts(const RunRef& run) {
  // An attempt without an end is that of a live controller, or of one that was lost.
  Statement query = database_.prepare(
      "SELECT attempt, CASE WHEN a.ended_at IS NULL AND NOT run_is_live(name) THEN 'LOST' ELSE "
      "a.status END, a.error, a.started_at, a.ended_at FROM attempts AS a JOIN runs USING(run_id) "
      "WHERE run_id = ? ORDER BY attempt");
  query.add(run.run_id);
  Statement workers = database_.prepare(
      "SELECT rank, pid, host, device, exit_code, signal FROM workers WHERE run_id = ? AND "
      "attempt = ? ORDER BY rank");
  List out;
  while (query.next()) {
    workers.reset();
    workers.add(run.run_id).add(query.integer(0));
    List rows;
    while (workers.next()) {
      rows.push_back(Map{{"rank", workers.integer(0)},
                         {"pid", workers.integer(1)},
                         {"host", workers.text(2)},
                         {"device", workers.text(3)},
                         {"exit_code", optional_value(workers.optional_integer(4))},
                         {"signal", optional_value(workers.optional_integer(5))}});
    }
    out.push_back(Map{{"attempt", query.integer(0)},
                      {"status", query.text(1)},
                      {"error", json_value(query.text(2))},
                      {"started_at", time_value(query.integer(3))},
                      {"ended_at", time_value(query.optional_integer(4))},
                      {"workers", std::move(rows)}});
  }
  return out;
}

Value RunReader::run(const RunRef& run) {
  const List found =
      runs({.where = cat("run_id = ", quoted(run.run_id, '\'')), .sort = {}, .limit = {}});
  RT_CHECK(found.size() == 1);
  Map out = found.front().as_map();
  Statement query = database_.prepare(
      "SELECT config, scaling, environment, checkpoint_config FROM runs WHERE run_id = ?");
  query.add(run.run_id).next();
  out.set("config", json_value(query.text(0)));
  out.set("scaling", json_value(query.text(1)));
  out.set("attempts", attempts(run));
  const List existing = checkpoints(run, false);
  out.set("checkpoints", existing);
  std::vector<Value> metrics;
  for (const Value& checkpoint : existing) metrics.push_back(checkpoint["metrics"]);
  const auto policy = RetentionPolicy::from_value(json_value(query.text(3)));
  List best;
  for (const size_t position : rank_checkpoints(policy, metrics)) {
    best.push_back(existing[position]);
  }
  out.set("best_checkpoints", std::move(best));
  out.set("annotations", read_annotations(database_, run.run_id));
  out.set("path", run.path);
  const Value environment = json_value(query.text(2));
  Map shown;
  for (const char* key : {"git_commit", "git_dirty", "hostname", "command"}) {
    shown.set(key, environment[key]);
  }
  out.set("environment", std::move(shown));
  return out;
}

Value RunReader::details(const RunRef& run) {
  Statement query = database_.prepare(
      "SELECT note, error, return_value, checkpoint_config FROM runs WHERE run_id = ?");
  query.add(run.run_id).next();
  Statement event = database_.prepare(
      "SELECT time, attempt, level, text FROM events WHERE run_id = ? ORDER BY event_id");
  event.add(run.run_id);
  List events;
  while (event.next()) {
    events.push_back(Map{{"time", time_value(event.integer(0))},
                         {"attempt", event.integer(1)},
                         {"level", event.text(2)},
                         {"text", event.text(3)}});
  }
  return Map{{"note", query.text(0)},
             {"error", json_value(query.text(1))},
             {"return_value", json_value(query.text(2))},
             {"checkpoint_config", json_value(query.text(3))},
             {"events", std::move(events)}};
}

List RunReader::series(const RunRef& run, const std::string& key, bool all) {
  const std::vector<std::string> keys = series_keys(database_, run.run_id);
  if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
    return read_series(database_, run.run_id, key, all);
  }
  const std::string hint = keys.empty() ? ": it logged none (train.log)" : suggestion(key, keys);
  throw Error(Code::kUsage, cat("the run '", run.name, "' has no series '", key, "'", hint));
}

List RunReader::metrics(const RunRef& run, bool ranks, bool all) {
  Statement query = database_.prepare(
      "SELECT idx, attempt, rank, time, metrics, nonfinite, superseded FROM reports "
      "WHERE run_id = ? AND (rank = 0 OR ?) AND (superseded = 0 OR ?) "
      "ORDER BY idx, attempt, rank");
  query.add(run.run_id).add(int64_t{ranks}).add(int64_t{all});
  List out;
  std::pair<int64_t, int64_t> open{-1, -1};  // index and attempt of the row being filled
  while (query.next()) {
    Value values = load_metrics(query.text(4), query.text(5));
    const std::pair key(query.integer(0), query.integer(1));
    if (key != open) {
      open = key;
      Map row{{"index", key.first},
              {"attempt", key.second},
              {"time", time_value(query.integer(3))},
              {"metrics", query.integer(2) == 0 ? values : Value()}};
      if (ranks) row.set("ranks", List{});
      if (all) row.set("superseded", query.integer(6) != 0);
      out.push_back(std::move(row));
    }
    if (!ranks) continue;
    List by_rank = out.back()["ranks"].as_list();
    by_rank.resize(static_cast<size_t>(query.integer(2)));
    by_rank.push_back(std::move(values));
    out.back().as_map().set("ranks", std::move(by_rank));
  }
  return out;
}

List RunReader::checkpoints(const RunRef& run, bool all) {
  Statement query = database_.prepare(
      "SELECT name, idx, attempt, metrics, nonfinite, size_bytes, created_at, state, status, "
      "problem FROM checkpoints WHERE run_id = ? ORDER BY idx, attempt, checkpoint_id");
  query.add(run.run_id);
  Statement config = database_.prepare("SELECT checkpoint_config FROM runs WHERE run_id = ?");
  config.add(run.run_id).next();
  const auto policy = RetentionPolicy::from_value(json_value(config.text(0)));
  List rows;
  std::vector<size_t> kept;  // positions in rows
  std::vector<Value> kept_metrics;
  while (query.next()) {
    const std::string path = cat(run.path, "/checkpoints/", query.text(0));
    const bool is_kept = query.text(7) == "kept" && path_exists(path);
    if (!is_kept && !all) continue;
    Value metrics = load_metrics(query.text(3), query.text(4));
    if (is_kept) {
      kept.push_back(rows.size());
      kept_metrics.push_back(metrics);
    }
    Map row{{"name", query.text(0)},
            {"path", path},
            {"index", query.integer(1)},
            {"attempt", query.integer(2)},
            {"metrics", std::move(metrics)},
            {"size_bytes", query.integer(5)},
            {"created_at", time_value(query.integer(6))},
            {"status", query.text(8)},
            {"latest", false},
            {"best", false}};
    if (!query.is_null(9)) row.set("problem", query.text(9));
    if (all) row.set("kept", is_kept);
    if (all) row.set("state", query.text(7) == "kept" && !is_kept ? "missing" : query.text(7));
    rows.push_back(std::move(row));
  }
  if (kept.empty()) return rows;
  rows[kept.back()].as_map().set("latest", true);
  rows[kept[rank_checkpoints(policy, kept_metrics).front()]].as_map().set("best", true);
  return rows;
}

bool RunReader::is_live(const RunRef& run) const { return RunLock::is_held(run.path); }

RunReader::Table RunReader::query(const std::string& sql) {
  Statement statement = user_statement(sql, "the query");
  Table table;
  for (int column = 0; column < statement.columns(); ++column) {
    table.columns.push_back(statement.column_name(column));
  }
  while (statement.next()) {
    List row;
    for (int column = 0; column < statement.columns(); ++column) {
      row.push_back(cell_value(statement, column));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace rtrain
