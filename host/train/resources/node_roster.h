// host/train/resources/node_roster.h: the hosts of a job as far as a run knows them: which have
// come, what each has room for, which the run does without, and who is missing, in words.
//
// Host 0 is this one; the others come and go. Belongs to the control thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/decide/placement.h"
#include "host/node/node_server.h"
#include "host/train/run/run_spec.h"

namespace rtrain {

// One that has come.
struct RosterHost {
  message::AgentInfo info;
  bool is_ready = false;     // it has what workers inherit, and sees the run's folder
  std::string problem = {};  // why it does not see it
};

class NodeRoster {
 public:
  // `gpus`: the names of this host's devices that the job has.
  NodeRoster(const NodeServer& nodes, const RunSpec& spec, std::vector<std::string> gpus);

  void add(const message::AgentInfo& info) { others_[info.node] = {.info = info}; }
  void drop(int node) { others_.erase(node); }
  // The run does without it from now on, whether it comes back or not.
  void evict(int node, const std::string& reason);
  bool is_evicted(int node) const { return evicted_.contains(node); }

  // Those that have come, by node.
  const std::map<int, RosterHost>& others() const { return others_; }
  // Null for this host, and for one that is not there.
  RosterHost* find(int node);
  std::string name(int node) const;
  // At which the others reach it.
  std::string address(int node) const;
  // Of the cores or devices that the job has on it. REQUIRES: node 0, or one that has come.
  NodeCapacity room(int node) const;

  // Each is empty where there is nothing to say. Hosts that compute with another LibTorch:
  std::string misfits() const;
  // Hosts, or the launcher's ranks, that have not come.
  std::string absent() const;
  // "; evicted: host n1 (link: ...)".
  std::string evicted_text() const;
  // Why it is evicted: "host n1 (link: ...)".
  const std::string& why_evicted(int node) const { return evicted_.at(node); }
  // What devices those hosts have, where workers want some of a type.
  std::string devices_text(const std::vector<int>& nodes) const;

 private:
  int workers_for(int tasks, int cores, const std::vector<std::string>& gpus) const;
  int workers_for(const std::vector<std::string>& gpus) const;
  bool has_ingest_host() const;
  std::string absent_hosts() const;
  std::string absent_ranks() const;

  const NodeServer& nodes_;
  const RunSpec& spec_;
  std::vector<std::string> gpus_;  // of this host
  std::string libtorch_;           // of this host
  std::map<int, RosterHost> others_;
  std::map<int, std::string> evicted_;  // the host and why
};

}  // namespace rtrain
