// host/node/node_server.h: node 0's connections to the agents of the job's other nodes.
//
// It has its own thread and loop, "rtrain-nodes", because agents stay connected while the script
// does other things than training, and between two calls of fit(). A run attaches itself to get
// events about them.
//
// Any thread may call it. Frames to and from one agent keep their order.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "host/loop/loop.h"
#include "host/loop/timer.h"
#include "host/loop/turn_end.h"
#include "host/node/job_spec.h"
#include "host/node/operator_links.h"
#include "host/node/workers/messages.h"
#include "host/wire/rendezvous.h"
#include "host/wire/secret_source.h"
#include "host/wire/wire_server.h"

namespace rtrain::node {

// Called on the loop that was passed to attach().
class NodeServerDelegate {
 public:
  virtual ~NodeServerDelegate() = default;
  // The agent has connected, or another process has replaced it.
  virtual void on_node(const message::AgentInfo& info) = 0;
  virtual void on_node_message(int node, Value message) = 0;
  // Its process has ended, or nothing was heard from it for the job's node_timeout_s.
  virtual void on_node_lost(int node, const std::string& reason) = 0;
  virtual void on_node_refused(const std::string& text) = 0;
  // A command for the run, from another node (host/train/control_server.h).
  virtual void on_command(Value request, OperatorLinks::Reply reply) = 0;
};

class NodeServer : public wire::WireServerDelegate {
 public:
  // Starts listening and publishes the address. Throws Error(kEnvironment).
  explicit NodeServer(const JobSpec& spec);
  ~NodeServer() override;
  NodeServer(const NodeServer&) = delete;
  NodeServer& operator=(const NodeServer&) = delete;

  // The launcher's allotment. Its node_timeout_s is not used here.
  const JobSpec& spec() const { return spec_; }
  // The job's cores on this node.
  int cores() const;
  // The port at which it listens.
  int port() const { return server_->address().port(); }
  // This node's address for the other nodes; empty before the first of them has connected.
  std::string address() const;

  // Attaches a run, one at a time. It gets events for the connected nodes first. Returns the
  // contact for commands from other nodes.
  wire::WireContact attach(const std::string& run_id, loop::Loop& loop,
                           NodeServerDelegate& delegate);
  void detach();
  // Does nothing for a node that is not connected. Throws Error(kArgument) for a message above
  // kMaxPayloadBytes.
  void send(int node, const Value& message);
  // Declares the node lost for that reason and ends its link, because its agent has sent invalid
  // data. If the agent is still alive, it connects again as a new one.
  void give_up(int node, const std::string& reason);
  // If a node has sent nothing for that long, it is lost. Agents apply the same time to this node.
  void set_node_timeout(double seconds);
  // Ends every agent with that exit code. Waits until all have learnt it or have ended, for a few
  // seconds at most.
  void leave(int code);

 private:
  class AgentLink;
  struct Audience;
  wire::Admission on_hello(const wire::WirePeer& peer, const wire::LinkHello& hello) override;
  wire::Admission admit_operator(const wire::WirePeer& peer, const wire::LinkHello& hello);
  void on_refused(const std::string& text) override;
  void tell(std::function<void(NodeServerDelegate&)> what);
  void pass_on();
  void slow_down();
  std::string refusal(const message::AgentInfo& info) const;
  void look();
  wire::WireContact contact(const wire::Secret& secret) const;
  void set_address(const std::string& address);
  void on_agent_done();
  void run_on_loop(std::function<void()> task);

  JobSpec spec_;
  wire::Secret secret_;
  loop::Loop loop_;
  std::shared_ptr<Audience> audience_;
  std::vector<std::function<void(NodeServerDelegate&)>> told_;  // events of this turn of the loop
  std::unique_ptr<loop::TurnEnd> turn_end_;
  double counted_since_s_ = 0;
  size_t num_told_ = 0;  // number of events since then
  bool is_crowded_ = false;
  mutable std::mutex address_mutex_;
  std::string address_;
  std::unique_ptr<wire::Rendezvous> rendezvous_;
  std::unique_ptr<wire::WireServer> server_;
  std::map<int, std::unique_ptr<AgentLink>> agents_;  // by node
  std::unique_ptr<OperatorLinks> operators_;          // of the attached run
  std::string run_id_;                                // id of the attached run
  std::optional<int> leaving_;                        // the exit code for agents
  std::optional<std::promise<void>> all_done_;        // set while leave() waits
  std::unique_ptr<loop::Timer> timer_;
  std::thread thread_;
};

// This process's server; null if it is the only process of its job.
NodeServer* node_server();
void set_node_server(std::unique_ptr<NodeServer> nodes);

}  // namespace rtrain::node
