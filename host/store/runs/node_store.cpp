#include "host/store/runs/node_store.h"

#include <algorithm>
#include <map>
#include <optional>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/store/claim/fenced_write.h"
#include "host/store/db/row_values.h"

namespace rtrain::store {

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

namespace {

// Adds the rank to its node's entry.
void add_rank(Map& host, int64_t rank, const std::string& device, const Value& exit) {
  host.find("ranks")->as_list().emplace_back(rank);
  List& devices = host.find("devices")->as_list();
  if (std::find(devices.begin(), devices.end(), Value(device)) == devices.end()) {
    devices.emplace_back(device);
  }
  if (!exit.is_nil()) host.find("exits")->as_list().push_back(exit);
}

Map new_host(const std::string& name) {
  return {{"node", Value()},   {"host", name},          {"address", Value()},
          {"ranks", List()},   {"devices", List()},     {"exits", List()},
          {"checks", Value()}, {"evicted_at", Value()}, {"reason", Value()}};
}

}  // namespace

List read_hosts(Database& database, const std::string& run_id) {
  std::map<std::string, Map> hosts;
  const auto host_of = [&](const std::string& name) -> Map& {
    return hosts.try_emplace(name, new_host(name)).first->second;
  };
  Statement query = database.prepare(
      "SELECT host, rank, device, exit_code, signal, a.error FROM workers JOIN attempts AS a "
      "USING(run_id, attempt) WHERE run_id = ?1 AND attempt = (SELECT max(attempt) FROM attempts "
      "WHERE run_id = ?1) ORDER BY rank");
  query.add(run_id);
  while (query.next()) {
    Map& host = host_of(query.text(0));
    const std::optional<int64_t> code = query.optional_integer(3);
    const std::optional<int64_t> signal = query.optional_integer(4);
    const bool is_bad = signal || code.value_or(0) != 0;
    Value exit;
    if (is_bad) {
      exit = Map{{"rank", query.integer(1)},
                 {"exit_code", code ? Value(*code) : Value()},
                 {"signal", signal ? Value(*signal) : Value()}};
      const Value error = json_value(query.text(5));
      if (error.is_map()) host.set("reason", error["message"]);
    }
    add_rank(host, query.integer(1), query.text(2), exit);
  }
  for (const Value& node : read_nodes(database, run_id)) {
    Map& host = host_of(node["host"].as_string());
    for (const char* key : {"node", "address", "checks", "evicted_at"}) host.set(key, node[key]);
    if (!node["reason"].is_nil()) host.set("reason", node["reason"]);
  }
  List out;
  for (auto& [name, host] : hosts) out.emplace_back(std::move(host));
  return out;
}

List read_nodes(Database& database, const std::string& run_id) {
  // A read-only store of an older version does not have the table.
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

}  // namespace rtrain::store
