#include "host/store/node_store.h"

#include "host/base/clock.h"
#include "host/base/json.h"
#include "host/store/fenced_write.h"
#include "host/store/row_values.h"

namespace rtrain {

void set_node(RunClaim& claim, const NodeRow& row) {
  write_fenced(claim, Durability::kNormal, [&](FencedWrite& write) {
    write.run(
        "INSERT INTO nodes(run_id, node, host, address, checks) VALUES(?, ?, ?, ?, ?) ON CONFLICT "
        "DO UPDATE SET host = excluded.host, address = excluded.address, checks = excluded.checks",
        claim.run_id, row.node, row.host, row.address, to_json(Value(row.checks)));
  });
}

void set_evicted(RunClaim& claim, int64_t node, const std::string& host,
                 const std::string& reason) {
  write_fenced(claim, Durability::kFull, [&](FencedWrite& write) {
    write.run(
        "INSERT INTO nodes(run_id, node, host, address, checks, evicted_at, reason) VALUES(?, ?, "
        "?, '', '[]', ?, ?) ON CONFLICT DO UPDATE SET evicted_at = excluded.evicted_at, reason = "
        "excluded.reason",
        claim.run_id, node, host, now_ms(), reason);
  });
}

List read_nodes(Database& database, const std::string& run_id) {
  // A store of an older version that nobody may write has none.
  Statement table = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'nodes'");
  if (!table.next()) return {};
  Statement query = database.prepare(
      "SELECT node, host, address, checks, evicted_at, reason FROM nodes WHERE run_id = ? ORDER BY "
      "node");
  query.add(run_id);
  List out;
  while (query.next()) {
    Map node{{"node", query.integer(0)},
             {"host", query.text(1)},
             {"address", query.text(2)},
             {"checks", json_value(query.text(3))},
             {"evicted_at", time_value(query.optional_integer(4))}};
    node.set("reason", query.text(5).empty() ? Value() : Value(query.text(5)));
    out.emplace_back(std::move(node));
  }
  return out;
}

}  // namespace rtrain
