// host/store/runs/node_store.h: the hosts of a run as rows: how they were checked, and which of
// them the run does without.
#pragma once

#include <cstdint>
#include <string>

#include "host/base/value.h"
#include "host/store/claim/run_claim.h"
#include "host/store/db/database.h"

namespace rtrain {

struct NodeRow {
  int64_t node = 0;
  std::string host;
  std::string address;
  List checks;  // {check, peer, seconds, problem}
};

// One transaction, fenced. Replaces what is there of that node, but for its eviction.
void set_node(RunClaim& claim, const NodeRow& row);
// Why the run does without it from now on.
void set_evicted(RunClaim& claim, int64_t node, const std::string& host, const std::string& reason);

// {node, host, address, checks, evicted_at, reason}, by node.
List read_nodes(Database& database, const std::string& run_id);

// Where the ranks of the last attempt are, and what the run has done without: {node, host, address,
// ranks, devices, exits, checks, evicted_at, reason}, by host. ranks: numbers; devices: each once;
// exits: {rank, exit_code, signal} of those that did not end well. node, address and checks are nil
// where the run is on one host. reason: why the run does without the host, else what ended the
// attempt where a rank of the host did not end well, else nil.
List read_hosts(Database& database, const std::string& run_id);

}  // namespace rtrain
