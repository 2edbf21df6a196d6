// host/train/resources/job_nodes.h: the nodes of a job in one run: waits until all have connected,
// sends them the data that workers inherit, checks that they can access the run's folder and are
// healthy, and creates the nodes of an attempt.
//
// Belongs to the control thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/decide/placement.h"
#include "host/loop/messages/routes.h"
#include "host/loop/timer.h"
#include "host/node/node_server.h"
#include "host/node/remote_node.h"
#include "host/node/workers/allotted_places.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/train/record/run_context.h"
#include "host/train/resources/late_reports.h"
#include "host/train/resources/node_judge.h"
#include "host/train/resources/node_roster.h"
#include "host/train/resources/resources.h"

namespace rtrain::train {

class JobNodesDelegate : public LateReportsDelegate {
 public:
  // The run cannot continue: a node does not connect or cannot access the run's folder.
  virtual void on_nodes_failed(const Error& error) = 0;
  virtual void on_forwarded_signal(int number) = 0;
  virtual void on_command(Value request, node::OperatorLinks::Reply reply) = 0;
  // Reports evidence against a node. `decided` must be called when the decision was carried out.
  virtual void on_evidence(decide::Evidence evidence, std::function<void()> decided) = 0;
};

class JobNodes : public Resources, public node::NodeServerDelegate, public NodeJudgeDelegate {
 public:
  // `gpus`: the job's devices on this node.
  JobNodes(node::NodeServer& nodes, const RunContext& run, std::vector<node::WorkerGpu> gpus,
           JobNodesDelegate& delegate);
  ~JobNodes() override;

  void request(std::function<void(int workers)> on_granted) override;
  void cancel() override;
  double waited_s() const override;
  void look(std::function<void(int workers)> on_seen) override;
  void end_run() override;
  NodeGroup nodes(const node::NodeOrder& order, node::NodeDelegate& delegate) override;
  void find_room(std::vector<decide::NodeWorkers> lost, std::vector<decide::NodeWorkers> used,
                 OnRoom on_room) override;
  void stop_finding() override { on_room_ = nullptr; }
  NodeGroup::Member node(int number, const node::NodeOrder& order,
                         node::NodeDelegate& delegate) override;
  std::string evict(int node, const std::string& reason) override;
  std::string start_ingest(const message::StartIngest& wanted) override;
  void tell_end(const message::Ended& ended) override;

  // The receivers of messages of an agent about its node.
  static const loop::Routes<message::FromAgent, JobNodes, int> kRoutes;

 private:
  void on_node(const message::AgentInfo& info) override;
  void on_node_message(int node, Value message) override;
  void on_node_lost(int node, const std::string& reason) override;
  void on_node_refused(const std::string& text) override;
  void on_command(Value request, node::OperatorLinks::Reply reply) override;
  void send_health(int node, Value message) override { nodes_.send(node, message); }
  void on_evidence(decide::Evidence evidence) override;

  void publish_contact();
  void send_functions(int node);
  void write_marker();
  void check_folders();
  void on_folder_seen(int node, const message::FolderSeen& seen);
  bool is_usable(int node) const;
  bool check_health();
  void look_for_room();
  void grant_if_ready();
  bool goes_on() const;
  void grant();
  // How many workers fit on the nodes present.
  int workers_now() const;
  // The numbers of the nodes present, this one first, with the workers that fit.
  std::vector<int> ready_nodes() const;
  std::vector<decide::NodeCapacity> rooms() const;
  std::string missing() const;
  std::string why_not_ready(const RosterNode& node) const;
  void tell_ranks();
  void fail(const Error& error);
  void on_deadline();

  node::NodeServer& nodes_;
  const RunContext& run_;
  node::AllottedPlaces places_;
  decide::Placement placement_;
  JobNodesDelegate& delegate_;
  wire::Rendezvous contact_;  // for commands from other nodes
  double wait_s_;             // how long to wait for the nodes
  std::string marker_;        // name and content of a file in the run's folder
  std::string marker_text_;
  std::optional<store::ObjectStorage> objects_;  // if the storage is an object store
  bool has_marker_ = false;
  std::string marker_problem_;  // why it could not be written at the last try
  NodeRoster roster_;
  LateReports late_reports_;
  NodeJudge health_;
  int undecided_ = 0;  // number of findings without a decision
  // Of the attempt, by node, which may have several; the attempt owns them.
  std::multimap<int, node::RemoteNode*> remote_;
  std::map<int, int64_t> ingest_;    // ingest workers started in the attempt, by node
  std::optional<Error> lost_ranks_;  // processes of the launcher that have gone do not come back
  std::function<void(int)> on_granted_;
  std::vector<decide::NodeWorkers> lost_;  // of find_room()
  std::vector<decide::NodeWorkers> used_;
  OnRoom on_room_;
  std::optional<double> waiting_since_s_;
  double waited_s_ = 0;
  bool has_begun_ = false;
  loop::Timer deadline_;
  loop::Timer check_;
};

}  // namespace rtrain::train
