// host/train/resources/node_roster.h: what a run knows about the nodes of a job: which have
// connected, their capacity, which are evicted, and texts about missing ones.
//
// Node 0 is this one; the others connect and disconnect. Belongs to the control thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/decide/placement.h"
#include "host/node/node_server.h"
#include "host/train/run/run_spec.h"

namespace rtrain::train {

// A node that has connected.
struct RosterNode {
  message::AgentInfo info;
  bool is_ready = false;      // has the data that workers inherit, and the run's folder
  std::string problem = {};   // why it cannot access the folder
  std::string far_path = {};  // its own folder for the run, if it does not see this node's
};

class NodeRoster {
 public:
  // `gpus`: names of the job's devices on this node.
  NodeRoster(const node::NodeServer& nodes, const RunSpec& spec, std::vector<std::string> gpus);

  void add(const message::AgentInfo& info) { others_[info.node] = {.info = info}; }
  void drop(int node) { others_.erase(node); }
  // The run does not use the node any more, even if it reconnects.
  void evict(int node, const std::string& reason);
  bool is_evicted(int node) const { return evicted_.contains(node); }

  // The other nodes that have connected, by node.
  const std::map<int, RosterNode>& others() const { return others_; }
  // Null for this node, and for one that is not connected.
  RosterNode* find(int node);
  std::string name(int node) const;
  // The node's address for the other nodes.
  std::string address(int node) const;
  // The job's cores or devices on the node. REQUIRES: node 0, or a connected node.
  decide::NodeCapacity room(int node) const;

  // The texts are empty if there is nothing to report. Nodes with a different LibTorch:
  std::string misfits() const;
  // Nodes, or ranks of the launcher, that have not connected.
  std::string absent() const;
  // "; evicted: node n1 (link: ...)".
  std::string evicted_text() const;
  // The node and why it was evicted: "node n1 (link: ...)".
  const std::string& why_evicted(int node) const { return evicted_.at(node); }
  // The devices of those nodes, if workers need a particular type.
  std::string devices_text(const std::vector<int>& nodes) const;

 private:
  int workers_for(int tasks, int cores, const std::vector<std::string>& gpus) const;
  int workers_for(const std::vector<std::string>& gpus) const;
  bool has_ingest_node() const;
  std::string absent_nodes() const;
  std::string absent_ranks() const;

  const node::NodeServer& nodes_;
  const RunSpec& spec_;
  std::vector<std::string> gpus_;  // this node's
  std::string libtorch_;           // this node's
  std::map<int, RosterNode> others_;
  std::map<int, std::string> evicted_;  // node and reason
};

}  // namespace rtrain::train
