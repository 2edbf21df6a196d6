// host/node/node_agent.h: the agent's side of a RemoteNode: starts and watches this node's workers
// for a controller elsewhere.
//
// It has the workers of one attempt at a time; older ones are killed when the next attempt begins.
// Ranks of lost nodes may come to them in a later attempt, as workers of their own: messages name
// the attempt in which their workers were started, and the rank. Belongs to the loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "host/loop/messages/routes.h"
#include "host/loop/timer.h"
#include "host/node/local_node.h"
#include "host/node/workers/allotted_places.h"
#include "host/node/workers/messages.h"

namespace rtrain::node {

class NodeAgent : public NodeDelegate {
 public:
  using Send = std::function<void(const message::FromNode& message)>;

  // `gpus`: this node's devices. `facts`: the interval of messages with the ranks' facts.
  NodeAgent(loop::Loop& loop, NodeFiles files, std::vector<WorkerGpu> gpus, Send send,
            std::chrono::milliseconds facts = std::chrono::seconds(1));

  // Receives a message of the controller. Throws Error(kArgument) for an invalid one.
  void receive(Value message);
  // Sets the descriptors that later workers inherit.
  void set_files(const NodeFiles& files) { files_ = files; }
  // While held, the workers' output stays in their pipes, whatever the controller says.
  void hold_output(bool held);
  // Like LocalNode::set_lease.
  void set_lease(double until_s);
  // Kills the workers and reports that reason.
  void kill(const std::string& reason);
  // Whether a worker is running.
  bool is_busy() const;
  // Whether the running workers, or the last ones, were started in that attempt.
  bool has(int attempt) const;
  // How often workers were started. Workers of earlier starts have ended.
  int num_starts() const { return num_starts_; }

  // The receivers of the controller's messages.
  static const loop::Routes<message::ToNode, NodeAgent> kRoutes;

 private:
  // Workers that were started together.
  struct Group {
    NodeOrder order;
    int running = 0;     // number of running workers
    int64_t spares = 0;  // that were asked for
    std::unique_ptr<LocalNode> node = {};

    // Also for no rank: that is all of them.
    bool is_of(std::optional<int> rank) const;
  };

  void on_spawned(int rank, const SpawnedWorker& worker) override;
  void on_spawn_failed(int rank, const Error& error, bool is_transient) override;
  void on_frame(int rank, std::string frame) override;
  void on_output(int rank, OutputStream stream, std::string_view bytes) override;
  void on_dying(int rank) override;
  void on_gone(int rank, const WorkerEnd& end) override;
  void on_series(store::SeriesChunk chunk) override;
  void on_device_fault(const DeviceFault& fault) override;

  void start(NodeOrder order);
  void replace(Group& group, int rank);
  static void make_spare(Group& group, const std::string& frame);
  static void kill(Group& group, const message::KillWorkers& kill);
  void apply_hold();
  void send_facts();
  void send_facts(const Group& group);
  // Calls `what` with the groups that were started in the message's attempt; if the message names a
  // rank, with that of the rank.
  template <class Message, class What>
  void of(const Message& message, What what) {
    for (Group& group : groups_) {
      if (group.order.attempt != message.attempt) continue;
      if constexpr (requires { message.rank; }) {
        if (!group.is_of(message.rank)) continue;
      }
      what(group);
    }
  }
  Group& group_of(int rank);

  loop::Loop& loop_;
  NodeFiles files_;
  std::vector<WorkerGpu> gpus_;
  Send send_;
  std::chrono::milliseconds facts_every_;
  std::string lost_;  // why the agent has killed all workers
  double lease_s_ = 0;
  bool holds_for_link_ = false;
  bool holds_for_controller_ = false;
  int num_starts_ = 0;
  loop::Timer facts_timer_;
  std::optional<AllottedPlaces> places_;
  std::list<Group> groups_;
};

}  // namespace rtrain::node
