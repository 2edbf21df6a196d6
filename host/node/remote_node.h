// host/node/remote_node.h: the controller's side of another node's agent.
//
// It forwards orders to the agent, whose NodeAgent carries them out, and the agent's messages to
// its delegate. Facts are the agent's last ones, with times on this node's clock.
//
// Belongs to the control thread. Must not be destroyed from inside a call of its delegate.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "host/loop/messages/routes.h"
#include "host/node/workers/messages.h"
#include "host/node/workers/node.h"

namespace rtrain::node {

// Its methods are those of Node and the receivers of the agent's messages.
class RemoteNode : public Node {
 public:
  using Send = std::function<void(const message::ToNode& message)>;

  RemoteNode(NodeOrder order, Send send, NodeDelegate& delegate);

  // Receives a message of the agent. Throws Error(kArgument) for an invalid one.
  void receive(Value message);
  // Passes a message of an agent to the one whose workers it is about. `nodes`: all with workers on
  // that agent's node. Throws Error(kArgument) for an invalid one.
  static void receive(const std::vector<RemoteNode*>& nodes, Value message);
  // Whether one of its workers was started and has not ended.
  bool is_running() const;
  // The node is considered lost, and with it all its workers, including those not started yet.
  void lose(const std::string& reason);

  void spawn() override;
  void send(int rank, std::string_view frame) override;
  void set_attached(int rank, int pid) override;
  // Nothing to do: the delegate already has all messages that have arrived.
  void drain() override {}
  void hold_output(bool held) override;
  void kill() override { send_(message::KillWorkers{.attempt = order_.attempt}); }
  void close() override { send_(message::CloseWorkers{.attempt = order_.attempt}); }
  bool replaces() const override { return !order_.is_local; }
  void hand_over(NodeDelegate& delegate) override;
  void replace(int rank) override;
  void make_spare(std::string_view frame) override;
  bool has_spare() const override { return has_spare_; }
  void drop_spare() override;
  void kill(int rank) override;
  void leave_out(int rank) override;
  void keep(int rank, uint64_t step, std::string_view bytes) override;
  void set_others_ready(uint64_t step) override;
  void set_others_lost() override { send_(message::OthersLost{.attempt = order_.attempt}); }
  decide::RankFacts facts(int rank) const override { return at(rank).facts; }
  uint64_t copied_bytes() const override { return copied_bytes_; }
  double clock_offset_s() const override { return clock_offset_s_; }

  // The receivers of the agent's messages.
  static const loop::Routes<message::FromNode, RemoteNode> kRoutes;

 private:
  struct Rank {
    bool is_spawned = false;
    bool is_gone = false;
    int pid = 0;
    decide::RankFacts facts;
  };
  const Rank& at(int rank) const;
  Rank& at(int rank);
  bool owns(const Value& message) const;
  bool is_mine(int attempt) const { return attempt == order_.attempt; }
  // Throws Error(kArgument) for a rank of another node.
  void check_rank(int rank) const { at(rank); }
  // Ignores messages of a rank that has ended. Throws Error(kArgument) for a rank of another node.
  template <class RankMessage>
  bool is_of_live_rank(const RankMessage& message) const {
    return is_mine(message.attempt) && !at(message.rank).is_gone;
  }

  void on_spawned(const message::Spawned& spawned);
  void on_frame(message::FromRank frame);
  void on_gone(const message::Gone& gone);
  void on_facts(message::NodeFacts facts);
  decide::RankFacts on_this_clock(decide::RankFacts facts) const;

  NodeOrder order_;
  Send send_;
  NodeDelegate* delegate_;
  std::vector<Rank> ranks_;  // from order_.first_rank on
  bool holds_output_ = false;
  bool has_clock_ = false;
  double clock_offset_s_ = 0;
  // The offset computed from the fastest message: its error is only that message's transfer time.
  double nearest_offset_s_ = std::numeric_limits<double>::max();
  uint64_t copied_bytes_ = 0;
  int64_t spares_ = 0;  // that were asked for
  bool has_spare_ = false;
};

}  // namespace rtrain::node
