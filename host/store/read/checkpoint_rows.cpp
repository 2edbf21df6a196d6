#include "host/store/read/checkpoint_rows.h"

#include <utility>
#include <vector>

#include "host/base/text/text.h"
#include "host/decide/checkpoints/retention.h"
#include "host/store/db/row_values.h"
#include "host/store/db/stored_metrics.h"
#include "host/store/files/file.h"

namespace rtrain::store {

List checkpoint_rows(OpenStore& store, const RunRef& run, bool all) {
  Database& database = store.database();
  const std::string uri = store.uri();
  Statement query = database.prepare(
      "SELECT name, idx, attempt, metrics, nonfinite, size_bytes, created_at, state, status, "
      "problem FROM checkpoints WHERE run_id = ? ORDER BY idx, attempt, checkpoint_id");
  query.add(run.run_id);
  Statement config = database.prepare("SELECT checkpoint_config FROM runs WHERE run_id = ?");
  config.add(run.run_id).next();
  const auto policy = decide::RetentionPolicy::from_value(json_value(config.text(0)));
  List rows;
  std::vector<size_t> kept;  // positions in rows
  std::vector<Value> kept_metrics;
  while (query.next()) {
    const std::string name = entry_name(query, 0);
    const std::string path = cat(run.path, "/checkpoints/", name);
    const bool is_kept = query.text(7) == "kept" && (!uri.empty() || path_exists(path));
    if (!is_kept && !all) continue;
    Value metrics = load_metrics(query.text(3), query.text(4));
    if (is_kept) {
      kept.push_back(rows.size());
      kept_metrics.push_back(metrics);
    }
    Map row{{"name", name},
            {"path", path},
            {"index", query.integer(1)},
            {"attempt", query.integer(2)},
            {"metrics", std::move(metrics)},
            {"size_bytes", query.integer(5)},
            {"created_at", time_value(query.integer(6))},
            {"status", query.text(8)},
            {"latest", false},
            {"best", false}};
    if (!uri.empty()) row.set("uri", cat(uri, "/", run.name, "/checkpoints/", name));
    if (!query.is_null(9)) row.set("problem", query.text(9));
    if (all) row.set("kept", is_kept);
    if (all) row.set("state", query.text(7) == "kept" && !is_kept ? "missing" : query.text(7));
    rows.push_back(std::move(row));
  }
  if (kept.empty()) return rows;
  rows[kept.back()].as_map().set("latest", true);
  rows[kept[decide::rank_checkpoints(policy, kept_metrics).front()]].as_map().set("best", true);
  return rows;
}

}  // namespace rtrain::store
