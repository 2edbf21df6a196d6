// host/train/resources/node_judge.h: the health of a run's hosts, as their monitors see it: checks
// each host before it is used, and gathers the evidence against one while it is.
//
// Before: its storage writes, its devices answer, and it exchanges 1 MB with every other host. What
// has come of that is in the run's record. While it is used: host/node/health/node_monitor.h says
// what it sees, LinkVerdict which end of a bad link is at fault.
//
// Decides nothing: evidence goes to the delegate. Belongs to the control thread.
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

namespace rtrain {

class NodeJudgeDelegate {
 public:
  virtual ~NodeJudgeDelegate() = default;
  // To the monitor of another host.
  virtual void send_health(int node, Value message) = 0;
  // May drop hosts.
  virtual void on_evidence(Evidence evidence) = 0;
};

class NodeJudge {
 public:
  // `gpus`: of this host. `port`: the run's, at which the other hosts listen for each other; 0:
  // there are none.
  NodeJudge(const RunContext& run, const std::vector<WorkerGpu>& gpus, int port,
            NodeJudgeDelegate& delegate);

  // The host is there; this one too, as node 0. The address is where the others reach it.
  void add(int node, const std::string& host, const std::string& address);
  // It is not there any more.
  void drop(int node);
  // It is not used any more: nothing more is heard of it.
  void dismiss(int node);
  // The run is over: its hosts are not watched any more.
  void stop();

  // Checks the hosts that were not, and calls back when all have said how they are, or have had
  // their time. Evidence comes before that.
  using Done = std::function<void()>;
  void check(Done done);
  bool is_checked(int node) const;
  bool is_checking() const { return done_ != nullptr; }

  // Whether a monitor sends messages of that type.
  static bool knows(const std::string& type) { return kRoutes.has(type); }
  // A message of the monitor of the host.
  void receive(int node, Value message) { kRoutes.deliver(*this, node, std::move(message)); }

  // Who receives it.
  static const Routes<message::FromHealth, NodeJudge, int> kRoutes;

 private:
  struct Host {
    std::string name;
    std::string address;
    int port = 0;  // of its EchoServer; 0: it has none, as node 0
    bool is_checked = false;
    bool is_new = false;  // of the check that is under way
    std::vector<CheckResult> results = {};
    std::map<int, std::string> failed_links = {};  // the problem, by the host at the other end
    bool fails_storage = false;
  };

  void send(int node, Value message);
  void on_checked(int node, message::HostChecked checked);
  void on_links(int node, const message::LinksChecked& checked);
  void on_link(int node, const message::LinkSeen& seen);
  void on_host(int node, const message::HostSeen& seen);
  void take_answer(int node);
  void check_links();
  void finish();
  void judge();
  void record() const;
  void watch();
  void look();
  std::vector<LinkPeer> new_peers(int node) const;
  std::vector<LinkPeer> neighbours(int node) const;
  LinkPeer peer(int node) const;
  bool is_storage_fine_elsewhere(int node) const;
  void blame_links();
  void tell_all();
  void tell(int node, const std::string& kind, const std::string& text, bool is_conclusive);

  const RunContext& run_;
  NodeJudgeDelegate& delegate_;
  int port_;
  std::string key_;  // of the echo servers
  std::map<int, Host> hosts_;
  std::set<int> waiting_;   // for their answers
  bool has_links_ = false;  // the check has come to the links
  Done done_;
  std::vector<Evidence> evidence_;  // the delegate has not heard of
  LinkVerdict links_;
  NodeMonitor own_;
  Timer deadline_;
  Timer timer_;
};

}  // namespace rtrain
