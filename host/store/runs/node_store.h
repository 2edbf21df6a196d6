// host/store/runs/node_store.h: rows for the nodes of a run: results of their checks, and
// evictions.
#pragma once

#include <cstdint>
#include <string>

#include "host/base/value.h"
#include "host/store/claim/run_claim.h"
#include "host/store/db/database.h"

namespace rtrain::store {

struct NodeRow {
  int64_t node = 0;
  std::string host;
  std::string address;
  List checks;  // {check, peer, seconds, problem}
};

// One fenced transaction. Replaces the node's row, except its eviction.
void set_node(RunClaim& claim, const NodeRow& row);
// Records why the run evicts the node.
void set_evicted(RunClaim& claim, int64_t node, const std::string& host, const std::string& reason);

// {node, host, address, checks, evicted_at, reason}, by node.
List read_nodes(Database& database, const std::string& run_id);

// The nodes of the last attempt's ranks and evicted nodes: {node, host, address, ranks, devices,
// exits, checks, evicted_at, reason}, by host. ranks: numbers; devices: without duplicates; exits:
// {rank, exit_code, signal} of ranks that failed. node, address and checks are nil if the run is on
// one node. reason: why the node was evicted, else what ended the attempt if one of the node's
// ranks failed, else nil.
List read_hosts(Database& database, const std::string& run_id);

}  // namespace rtrain::store
