// host/train/resources/node_roster.h: what a run knows about the hosts of a job: which have
// connected, their capacity, which are evicted, and texts about missing ones.
//
// Host 0 is this one; the others connect and disconnect. Belongs to the control thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/decide/placement.h"
#include "host/node/node_server.h"
#include "host/train/run/run_spec.h"

namespace rtrain {

// A host that has connected.
struct RosterHost {
  message::AgentInfo info;
  bool is_ready = false;     // has the data that workers inherit, and the run's folder
  std::string problem = {};  // why it cannot access the folder
};

class NodeRoster {
 public:
  // `gpus`: names of the job's devices on this host.
  NodeRoster(const NodeServer& nodes, const RunSpec& spec, std::vector<std::string> gpus);

  void add(const message::AgentInfo& info) { others_[info.node] = {.info = info}; }
  void drop(int node) { others_.erase(node); }
  // The run does not use the host any more, even if it reconnects.
  void evict(int node, const std::string& reason);
  bool is_evicted(int node) const { return evicted_.contains(node); }

  // The other hosts that have connected, by node.
  const std::map<int, RosterHost>& others() const { return others_; }
  // Null for this host, and for one that is not connected.
  RosterHost* find(int node);
  std::string name(int node) const;
  // The host's address for the other hosts.
  std::string address(int node) const;
  // The job's cores or devices on the host. REQUIRES: node 0, or a connected host.
  NodeCapacity room(int node) const;

  // The texts are empty if there is nothing to report. Hosts with a different LibTorch:
  std::string misfits() const;
  // Hosts, or ranks of the launcher, that have not connected.
  std::string absent() const;
  // "; evicted: host n1 (link: ...)".
  std::string evicted_text() const;
  // The host and why it was evicted: "host n1 (link: ...)".
  const std::string& why_evicted(int node) const { return evicted_.at(node); }
  // The devices of those hosts, if workers need a particular type.
  std::string devices_text(const std::vector<int>& nodes) const;

 private:
  int workers_for(int tasks, int cores, const std::vector<std::string>& gpus) const;
  int workers_for(const std::vector<std::string>& gpus) const;
  bool has_ingest_host() const;
  std::string absent_hosts() const;
  std::string absent_ranks() const;

  const NodeServer& nodes_;
  const RunSpec& spec_;
  std::vector<std::string> gpus_;  // this host's
  std::string libtorch_;           // this host's
  std::map<int, RosterHost> others_;
  std::map<int, std::string> evicted_;  // host and reason
};

}  // namespace rtrain
