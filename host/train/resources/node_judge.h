// host/train/resources/node_judge.h: checks a run's nodes with their monitors: each node before it
// is used, and collects evidence against it afterwards.
//
// Before its use: its storage can be written, its devices answer, and it exchanges 1 MB with every
// other node. The results are in the run's record. During its use: host/node/health/node_monitor.h
// reports observations, and LinkVerdict decides which end of a bad link is at fault.
//
// Decides nothing else: evidence is passed to the delegate. Belongs to the control thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/decide/evidence.h"
#include "host/decide/link_verdict.h"
#include "host/loop/messages/routes.h"
#include "host/loop/timer.h"
#include "host/node/health/health_messages.h"
#include "host/node/health/node_monitor.h"
#include "host/train/record/run_context.h"

namespace rtrain::train {

class NodeJudgeDelegate {
 public:
  virtual ~NodeJudgeDelegate() = default;
  // Sends to the monitor of another node.
  virtual void send_health(int node, Value message) = 0;
  // May call drop().
  virtual void on_evidence(decide::Evidence evidence) = 0;
};

class NodeJudge {
 public:
  // `gpus`: this node's devices. `port`: the run's port, at which the other nodes listen for each
  // other; 0: there are none.
  NodeJudge(const RunContext& run, const std::vector<node::WorkerGpu>& gpus, int port,
            NodeJudgeDelegate& delegate);

  // The node is present; this node too, as node 0. `address`: where the other nodes reach it.
  // `folder`: its own one for the run, if it does not see node 0's.
  void add(int node, const std::string& name, const std::string& address,
           const std::string& folder);
  // The node is not present any more.
  void drop(int node);
  // The node is not used any more: its messages are ignored.
  void dismiss(int node);
  // The run has ended: stops watching its nodes.
  void stop();

  // Checks the nodes that were not checked yet. Calls back when all have answered or timed out.
  // Evidence is reported before that.
  using Done = std::function<void()>;
  void check(Done done);
  bool is_checked(int node) const;
  bool is_checking() const { return done_ != nullptr; }

  // Whether monitors send messages of that type.
  static bool knows(const std::string& type) { return kRoutes.has(type); }
  // Receives a message of the node's monitor.
  void receive(int node, Value message) { kRoutes.deliver(*this, node, std::move(message)); }

  // The receivers of the messages.
  static const loop::Routes<message::FromHealth, NodeJudge, int> kRoutes;

 private:
  struct JudgedNode {
    std::string name;
    std::string address;
    std::string folder;  // where its ranks write
    int port = 0;        // of its EchoServer; 0: none, as for node 0
    bool is_checked = false;
    bool is_new = false;  // part of the current check
    std::vector<node::CheckResult> results = {};
    std::map<int, std::string> failed_links = {};  // problem by the node at the other end
    bool refuses = false;                          // connections of other nodes
    bool fails_storage = false;
  };

  void send(int node, Value message);
  void on_checked(int node, message::NodeChecked checked);
  void on_links(int node, const message::LinksChecked& checked);
  void on_link(int node, const message::LinkSeen& seen);
  void on_node(int node, const message::NodeSeen& seen);
  void take_answer(int node);
  void check_links();
  void finish();
  void judge();
  void record() const;
  void watch();
  void look();
  std::vector<node::LinkPeer> new_peers(int node) const;
  std::vector<node::LinkPeer> neighbours(int node) const;
  node::LinkPeer peer(int node) const;
  bool is_storage_fine_elsewhere(int node) const;
  void blame_links();
  void tell_all();
  void tell(int node, const std::string& kind, const std::string& text, bool is_conclusive);

  const RunContext& run_;
  NodeJudgeDelegate& delegate_;
  int port_;
  std::string key_;  // of the echo servers
  std::map<int, JudgedNode> judged_;
  std::set<int> waiting_;   // nodes that have not answered
  bool has_links_ = false;  // the check has reached the links
  Done done_;
  std::vector<decide::Evidence> evidence_;  // not yet reported to the delegate
  decide::LinkVerdict links_;
  node::NodeMonitor own_;
  loop::Timer deadline_;
  loop::Timer timer_;
};

}  // namespace rtrain::train
