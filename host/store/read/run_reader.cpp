#include "host/store/read/run_reader.h"

#include <algorithm>
#include <utility>

#include "host/base/text/text.h"
#include "host/decide/checkpoints/retention.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/claim/run_lock.h"
#include "host/store/db/row_values.h"
#include "host/store/db/schema.h"
#include "host/store/db/stored_metrics.h"
#include "host/store/files/file.h"
#include "host/store/read/checkpoint_rows.h"
#include "host/store/read/run_functions.h"
#include "host/store/read/run_progress.h"
#include "host/store/read/user_statement.h"
#include "host/store/runs/annotation_store.h"
#include "host/store/runs/node_store.h"
#include "host/store/runs/source_store.h"
#include "host/store/series/series_store.h"

namespace rtrain::store {
RunReader::RunReader(Database database, std::string storage_path)
    : database_(std::move(database)),
      storage_path_(std::make_unique<std::string>(std::move(storage_path))) {
  add_run_functions(database_, *storage_path_);
  database_.allow_reads_only();
}

std::optional<RunReader> RunReader::open(const std::string& storage_path) {
  std::optional<Database> database = Database::open_read_only(storage_path + "/rtrain.db");
  if (!database) return std::nullopt;
  check_is_store(*database);
  Statement tables = database->prepare("SELECT 1 FROM sqlite_master WHERE name = 'runs'");
  if (!tables.next()) return std::nullopt;  // a controller is creating the tables
  return RunReader(std::move(*database), storage_path);
}

OpenRun RunReader::open_run(const std::string& storage_path, const std::string& run) {
  std::optional<RunReader> reader = open(storage_path);
  if (!reader) {
    throw usage_error(cat("no run '", run, "': there are no runs in ", storage_path,
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
  return resolve_run(database_, *storage_path_, run);
}

List RunReader::runs(const RunFilter& filter) { return RunListing(database_).rows(filter); }

Map RunReader::count_by_status() { return RunListing(database_).count_by_status(); }

int64_t RunReader::count(const RunFilter& filter) { return RunListing(database_).count(filter); }

std::optional<BestRun> RunReader::best(const RunFilter& filter, const List& runs) {
  return best_run(database_, filter.sort, runs);
}

std::vector<RunRef> RunReader::unfinished() {
  Statement query = database_.prepare(
      "SELECT run_id, name FROM runs WHERE ended_at IS NULL AND NOT is_final(status) ORDER BY "
      "started_at DESC, name");
  std::vector<RunRef> out;
  while (query.next()) {
    out.push_back({query.text(0), query.text(1), cat(*storage_path_, "/", query.text(1))});
  }
  return out;
}

Value RunReader::progress(const RunRef& run) {
  Map out = RunListing(database_).row(run.run_id).as_map();
  for (const auto& [key, value] : read_progress(database_, run.run_id)) out.set(key, value);
  return out;
}

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

// Ray's automatic fields of rank 0's last valid report: {training_iteration, time_total_s,
// timestamp, pid, hostname, node_ip}. time_total_s covers all attempts up to the report. Nil
// without a report.
Value last_report(Database& database, const std::string& run_id) {
  constexpr int64_t kMsPerSecond = 1000;
  constexpr const char* kOneMachine = "127.0.0.1";  // a run on one node has no address
  Statement query = database.prepare(
      "SELECT idx, time, time - a.started_at + (SELECT coalesce(sum(b.ended_at - b.started_at), 0) "
      "FROM attempts AS b WHERE b.run_id = r.run_id AND b.attempt < r.attempt), w.pid, w.host, "
      "(SELECT address FROM nodes AS n WHERE n.run_id = r.run_id AND n.host = w.host) "
      "FROM reports AS r JOIN attempts AS a USING(run_id, attempt) "
      "LEFT JOIN workers AS w USING(run_id, attempt, rank) "
      "WHERE run_id = ? AND rank = 0 AND superseded = 0 ORDER BY idx DESC LIMIT 1");
  if (!query.add(run_id).next()) return {};
  const std::string address = query.text(5);
  return Map{
      {"training_iteration", query.integer(0) + 1},
      {"time_total_s", static_cast<double>(query.integer(2)) / static_cast<double>(kMsPerSecond)},
      {"timestamp", query.integer(1) / kMsPerSecond},
      {"pid", optional_value(query.optional_integer(3))},
      {"hostname", query.is_null(4) ? Value() : Value(query.text(4))},
      {"node_ip", address.empty() ? Value(kOneMachine) : Value(address)}};
}

}  // namespace

List RunReader::attempts(const RunRef& run) {
  // An attempt without an end belongs to a live controller or to one that was lost.
  Statement query = database_.prepare(
      "SELECT attempt, CASE WHEN a.ended_at IS NULL AND NOT run_is_live(name) THEN "
      "lost_status(name, "
      "run_id) ELSE a.status END, a.error, a.started_at, a.ended_at, a.heal_s FROM attempts AS a "
      "JOIN runs "
      "USING(run_id) "
      "WHERE run_id = ? ORDER BY attempt");
  query.add(run.run_id);
  Statement workers = database_.prepare(
      "SELECT rank, pid, host, device, exit_code, signal FROM workers WHERE run_id = ? AND "
      "attempt = ? ORDER BY rank");
  const auto gpus = last_series_values(database_, run.run_id, "gpu/");
  const auto data = last_series_values(database_, run.run_id, "data/");
  const auto phases = last_series_values(database_, run.run_id, "time/");
  List out;
  while (query.next()) {
    workers.reset();
    workers.add(run.run_id).add(query.integer(0));
    List rows;
    while (workers.next()) {
      const auto gpu = gpus.find({query.integer(0), workers.integer(0)});
      const auto times = data.find({query.integer(0), workers.integer(0)});
      const auto timing = phases.find({query.integer(0), workers.integer(0)});
      rows.push_back(Map{{"rank", workers.integer(0)},
                         {"pid", workers.integer(1)},
                         {"host", workers.text(2)},
                         {"device", workers.text(3)},
                         {"gpu", gpu == gpus.end() ? Value() : Value(gpu->second)},
                         {"data", times == data.end() ? Value() : times_of_datasets(times->second)},
                         {"timing", timing == phases.end() ? Value() : Value(timing->second)},
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

// The URI of the object store that the folder mirrors; empty if it does not.
std::string RunReader::store_uri() const {
  const auto objects = ObjectStorage::of(*storage_path_);
  return objects ? objects->uri() : "";
}

Value RunReader::config(const RunRef& run) {
  Statement query = database_.prepare("SELECT config FROM runs WHERE run_id = ?");
  return query.add(run.run_id).next() ? json_value(query.text(0)) : Value();
}

List RunReader::tags() {
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

Value RunReader::run(const RunRef& run) {
  Map out = RunListing(database_).row(run.run_id).as_map();
  Statement query = database_.prepare(
      "SELECT config, scaling, environment, checkpoint_config FROM runs WHERE run_id = ?");
  query.add(run.run_id).next();
  out.set("config", json_value(query.text(0)));
  out.set("scaling", json_value(query.text(1)));
  out.set("last_report", last_report(database_, run.run_id));
  out.set("attempts", attempts(run));
  const List existing = checkpoints(run, false);
  out.set("checkpoints", existing);
  std::vector<Value> metrics;
  for (const Value& checkpoint : existing) metrics.push_back(checkpoint["metrics"]);
  const auto policy = decide::RetentionPolicy::from_value(json_value(query.text(3)));
  List best;
  for (const size_t position : decide::rank_checkpoints(policy, metrics)) {
    best.push_back(existing[position]);
  }
  out.set("best_checkpoints", std::move(best));
  out.set("annotations", read_annotations(database_, run.run_id));
  out.set("nodes", read_nodes(database_, run.run_id));
  out.set("path", run.path);
  if (const std::string uri = store_uri(); !uri.empty()) out.set("uri", cat(uri, "/", run.name));
  const Value environment = json_value(query.text(2));
  Map shown;
  for (const char* key : {"git_commit", "git_dirty", "hostname", "command"}) {
    shown.set(key, environment[key]);
  }
  for (const char* key : {"git_diff_cut", "version", "libtorch", "kernel", "cores", "memory_bytes",
                          "variables", "launcher", "job"}) {
    if (!environment[key].is_nil()) shown.set(key, environment[key]);
  }
  out.set("environment", std::move(shown));
  return out;
}

List RunReader::hosts(const RunRef& run) { return read_hosts(database_, run.run_id); }

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

List RunReader::sources(const RunRef& run) { return read_sources(database_, run.run_id); }

std::vector<MediaRow> RunReader::media(const RunRef& run) {
  return read_media(database_, run.run_id);
}

std::string RunReader::media_content(const RunRef& run, const std::string& hash) {
  return read_media_content(database_, run.run_id, hash);
}

List RunReader::series(const RunRef& run, const std::string& key, bool all) {
  // Reads the list of all keys only if this key has no points, because exports ask for one key
  // after the other.
  List found = read_series(database_, run.run_id, key, all);
  if (!found.empty()) return found;
  const std::vector<std::string> keys = series_keys(database_, run.run_id);
  if (std::find(keys.begin(), keys.end(), key) != keys.end()) return found;
  const std::string hint = keys.empty() ? ": it logged none (train.log)" : suggestion(key, keys);
  throw Error(Code::kUsage, cat("the run '", run.name, "' has no series '", key, "'", hint));
}

std::vector<SeriesPoint> RunReader::reported(const RunRef& run, const std::string& metric,
                                             int64_t rank) {
  return reported_points(database_, run.run_id, metric, rank);
}

std::vector<SeriesPoint> RunReader::logged(const RunRef& run, const std::string& key,
                                           int64_t rank) {
  return series_points(database_, run.run_id, key, rank);
}

std::vector<int64_t> RunReader::ranks_with(const RunRef& run, const std::string& name) {
  std::vector<int64_t> out = reporting_ranks(database_, run.run_id, name);
  Statement query = database_.prepare("SELECT rank FROM series WHERE run_id = ? AND key = ?");
  query.add(run.run_id).add(name);
  while (query.next()) out.push_back(query.integer(0));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void RunReader::each_point(const RunRef& run, const std::string& key, std::optional<int64_t> rank,
                           const std::function<void(const LoggedPoint&)>& see) {
  each_logged_point(database_, run.run_id, key, rank, [&](const LoggedPoint& logged) {
    if (!logged.superseded) see(logged);
  });
}

std::vector<SeriesSummary> RunReader::charted(const RunRef& run, const std::string& key,
                                              int64_t rank, const ChartQuery& query) {
  return chart_columns(database_, run.run_id, key, rank, query);
}

std::optional<std::vector<SeriesSummary>> RunReader::charted(ReportCharts& charts,
                                                             const RunRef& run,
                                                             const std::string& metric,
                                                             int64_t rank,
                                                             const ChartQuery& query) {
  return charts.columns(database_, run.run_id, metric, rank, query);
}

std::vector<std::string> RunReader::series_names(const RunRef& run) {
  return series_keys(database_, run.run_id);
}

std::vector<std::string> RunReader::curve_names(const RunRef& run, ReportCharts& charts) {
  std::vector<std::string> names = series_keys(database_, run.run_id);
  for (std::string& name : charts.names(database_, run.run_id)) names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void RunReader::each_report(const RunRef& run, const std::function<void(const RankReport&)>& see) {
  Statement query = database_.prepare(
      "SELECT idx, attempt, time, metrics, nonfinite FROM reports WHERE run_id = ? AND rank = 0 "
      "AND superseded = 0 ORDER BY idx");
  query.add(run.run_id);
  while (query.next()) {
    see({.index = query.integer(0),
         .attempt = query.integer(1),
         .time_ms = query.integer(2),
         .metrics = load_metrics(query.text_view(3), query.text_view(4))});
  }
}

ReportRange RunReader::report_range(const RunRef& run) {
  Statement query = database_.prepare(
      "SELECT (SELECT min(idx) FROM reports WHERE run_id = ?1), "
      "(SELECT max(idx) FROM reports WHERE run_id = ?1)");
  query.add(run.run_id).next();
  if (query.is_null(0)) return {};
  return {.first = query.integer(0), .last = query.integer(1)};
}

void RunReader::each_stored_metrics(
    const RunRef& run, ReportRange range,
    const std::function<void(std::string_view, std::string_view)>& see) {
  Statement query = database_.prepare(
      "SELECT metrics, nonfinite FROM reports WHERE run_id = ? AND idx BETWEEN ? AND ? AND rank "
      "= 0 AND superseded = 0 ORDER BY idx");
  query.add(run.run_id).add(range.first).add(range.last);
  while (query.next()) see(query.text_view(0), query.text_view(1));
}

int64_t RunReader::count_metrics(const RunRef& run, bool all) {
  Statement query = database_.prepare(
      "SELECT count(*) FROM (SELECT DISTINCT idx, attempt FROM reports WHERE run_id = ? AND "
      "(superseded = 0 OR ?))");
  query.add(run.run_id).add(int64_t{all}).next();
  return query.integer(0);
}

List RunReader::metrics(const RunRef& run, bool ranks, bool all, RowRange page) {
  const char* shown = "run_id = ? AND (superseded = 0 OR ?)";
  const std::string within =
      page.limit < 0 ? ""
                     : cat(" AND (idx, attempt) IN (SELECT DISTINCT idx, attempt FROM reports "
                           "WHERE ",
                           shown, " ORDER BY idx, attempt LIMIT ? OFFSET ?)");
  Statement query = database_.prepare(
      cat("SELECT idx, attempt, rank, time, metrics, nonfinite, superseded FROM reports WHERE ",
          shown, " AND (rank = 0 OR ?)", within, " ORDER BY idx, attempt, rank"));
  query.add(run.run_id).add(int64_t{all}).add(int64_t{ranks});
  if (page.limit >= 0) {
    query.add(run.run_id).add(int64_t{all}).add(page.limit).add(page.offset);
  }
  List out;
  std::pair<int64_t, int64_t> open{-1, -1};  // of the row being filled
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
  return checkpoint_rows(database_, run, store_uri(), all);
}

bool RunReader::is_archived(const RunRef& run) {
  return RunListing(database_).is_archived(run.run_id);
}

Statement RunReader::hold() {
  // A statement that has not finished keeps SQLite's snapshot open.
  Statement held = database_.prepare("SELECT 1 FROM sqlite_master");
  held.next();
  return held;
}

bool RunReader::is_live(const RunRef& run) const { return RunLock::is_held(run.path); }

RunReader::Table RunReader::query(const std::string& sql) {
  const UserLimits limits(database_, 0);
  Statement statement = user_statement(database_, sql, "the query");
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

}  // namespace rtrain::store
