// host/node/node_server.h: the agents of a job's other hosts, as the process of node 0 reaches
// them.
//
// It has a thread and a loop of its own, "rtrain-nodes": agents come and stay while the script does
// other things than training, and between two calls of fit(). A run attaches itself to hear of
// them.
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

namespace rtrain {

// Called on the loop that attach() was given.
class NodeServerDelegate {
 public:
  virtual ~NodeServerDelegate() = default;
  // The agent has come, or another process has come in its place.
  virtual void on_node(const message::AgentInfo& info) = 0;
  virtual void on_node_message(int node, Value message) = 0;
  // Its process has gone, or nothing was heard of it for the job's node_timeout_s.
  virtual void on_node_lost(int node, const std::string& reason) = 0;
  virtual void on_node_refused(const std::string& text) = 0;
  // A command for the run, from another host (host/train/control_server.h).
  virtual void on_command(Value request, OperatorLinks::Reply reply) = 0;
};

class NodeServer : public WireServerDelegate {
 public:
  // Listens from here on, and publishes where. Throws Error(kEnvironment).
  explicit NodeServer(const JobSpec& spec);
  ~NodeServer() override;
  NodeServer(const NodeServer&) = delete;
  NodeServer& operator=(const NodeServer&) = delete;

  // The allotment of the launcher. Its node_timeout_s is not looked at here.
  const JobSpec& spec() const { return spec_; }
  // Of this host that the job has.
  int cores() const;
  // Where it listens.
  int port() const { return server_->address().port(); }
  // At which the other hosts reach this one; empty before the first of them has come.
  std::string address() const;

  // One run at a time. It hears of the nodes that are there. The contact is for commands from other
  // hosts.
  WireContact attach(const std::string& run_id, Loop& loop, NodeServerDelegate& delegate);
  void detach();
  // Nothing for a node that is not there. Throws Error(kArgument) for a message above
  // kMaxPayloadBytes.
  void send(int node, const Value& message);
  // That node is lost, for that reason, and its link ends: its agent has sent what makes no sense.
  // One that still lives comes again, as another one.
  void give_up(int node, const std::string& reason);
  // A host that has not been heard of for that long is lost; agents do the same with this one.
  void set_node_timeout(double seconds);
  // Ends every agent with that code, and waits until all of them know or have ended, for a few
  // seconds at most.
  void leave(int code);

 private:
  class Host;
  struct Audience;
  Admission on_hello(const WirePeer& peer, const LinkHello& hello) override;
  Admission admit_operator(const WirePeer& peer, const LinkHello& hello);
  void on_refused(const std::string& text) override;
  void tell(std::function<void(NodeServerDelegate&)> what);
  void pass_on();
  void slow_down();
  std::string refusal(const message::AgentInfo& info) const;
  void look();
  WireContact contact(const Secret& secret) const;
  void set_address(const std::string& address);
  void on_host_done();
  void run_on_loop(std::function<void()> task);

  JobSpec spec_;
  Secret secret_;
  Loop loop_;
  std::shared_ptr<Audience> audience_;
  std::vector<std::function<void(NodeServerDelegate&)>> told_;  // in this turn of the loop
  std::unique_ptr<TurnEnd> turn_end_;
  double counted_since_s_ = 0;
  size_t num_told_ = 0;  // since then
  bool is_crowded_ = false;
  mutable std::mutex address_mutex_;
  std::string address_;
  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<WireServer> server_;
  std::map<int, std::unique_ptr<Host>> hosts_;  // by node
  std::unique_ptr<OperatorLinks> operators_;    // of the run that is attached
  std::string run_id_;                          // its id
  std::optional<int> leaving_;                  // the code that agents end with
  std::optional<std::promise<void>> all_done_;  // until it is kept
  std::unique_ptr<Timer> timer_;
  std::thread thread_;
};

// Of this process; null where it is the only one of its job.
NodeServer* node_server();
void set_node_server(std::unique_ptr<NodeServer> nodes);

}  // namespace rtrain
