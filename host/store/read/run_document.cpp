#include "host/store/read/run_document.h"

#include <utility>
#include <vector>

#include "host/base/text/text.h"
#include "host/decide/checkpoints/retention.h"
#include "host/store/db/row_values.h"
#include "host/store/read/attempt_rows.h"
#include "host/store/read/checkpoint_rows.h"
#include "host/store/read/run_listing.h"
#include "host/store/runs/annotation_store.h"
#include "host/store/runs/node_store.h"

namespace rtrain::store {
namespace {

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

Value read_run(OpenStore& store, const RunRef& run) {
  Database& database = store.database();
  Map out = RunListing(database).row(run.run_id).as_map();
  Statement query = database.prepare(
      "SELECT config, scaling, environment, checkpoint_config FROM runs WHERE run_id = ?");
  query.add(run.run_id).next();
  out.set("config", json_value(query.text(0)));
  out.set("scaling", json_value(query.text(1)));
  out.set("last_report", last_report(database, run.run_id));
  out.set("attempts", attempt_rows(database, run.run_id));
  const List existing = checkpoint_rows(store, run, false);
  out.set("checkpoints", existing);
  std::vector<Value> metrics;
  for (const Value& checkpoint : existing) metrics.push_back(checkpoint["metrics"]);
  const auto policy = decide::RetentionPolicy::from_value(json_value(query.text(3)));
  List best;
  for (const size_t position : decide::rank_checkpoints(policy, metrics)) {
    best.push_back(existing[position]);
  }
  out.set("best_checkpoints", std::move(best));
  out.set("annotations", read_annotations(database, run.run_id));
  out.set("nodes", read_nodes(database, run.run_id));
  out.set("path", run.path);
  if (const std::string uri = store.uri(); !uri.empty()) out.set("uri", cat(uri, "/", run.name));
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

Value read_config(Database& database, const std::string& run_id) {
  Statement query = database.prepare("SELECT config FROM runs WHERE run_id = ?");
  return query.add(run_id).next() ? json_value(query.text(0)) : Value();
}

Value read_details(Database& database, const std::string& run_id) {
  Statement query = database.prepare(
      "SELECT note, error, return_value, checkpoint_config FROM runs WHERE run_id = ?");
  query.add(run_id).next();
  Statement event = database.prepare(
      "SELECT time, attempt, level, text FROM events WHERE run_id = ? ORDER BY event_id");
  event.add(run_id);
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

Value read_whole_run(OpenStore& store, const RunRef& run) {
  Map out = read_run(store, run).as_map();
  const Value details = read_details(store.database(), run.run_id);
  for (const auto& [key, value] : details.as_map()) out.set(key, value);
  return out;
}

}  // namespace rtrain::store
