#include "host/node/node_agent.h"

#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"

namespace rtrain::node {

NodeAgent::NodeAgent(loop::Loop& loop, NodeFiles files, std::vector<WorkerGpu> gpus, Send send,
                     std::chrono::milliseconds facts)
    : loop_(loop),
      files_(files),
      gpus_(std::move(gpus)),
      send_(std::move(send)),
      facts_every_(facts),
      facts_timer_(loop, [this] { send_facts(); }) {}

const loop::Routes<message::ToNode, NodeAgent> NodeAgent::kRoutes{
    loop::on<NodeOrder>([](NodeAgent& n, auto m) { n.start(std::move(m)); }),
    loop::on<message::ToRank>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.node_->send(m.rank, m.frame);
    }),
    loop::on<message::Attached>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.node_->set_attached(m.rank, m.pid);
    }),
    loop::on<message::HoldOutput>([](NodeAgent& n, const auto& m) {
      n.holds_for_controller_ = m.held;
      n.apply_hold();
    }),
    loop::on<message::KillWorkers>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.kill(m);
    }),
    loop::on<message::CloseWorkers>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.node_->close();
    }),
    loop::on<message::HandOver>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.node_->hand_over(n);
    }),
    loop::on<message::ReplaceWorker>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.replace(m.rank);
    }),
    loop::on<message::MakeSpare>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.make_spare(m.frame);
    }),
    loop::on<message::DropSpare>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.node_->drop_spare();
    }),
    loop::on<message::LeaveOutWorker>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.node_->leave_out(m.rank);
    }),
    loop::on<message::KeepCommit>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.node_->keep(m.rank, static_cast<uint64_t>(m.step), m.bytes);
    }),
    loop::on<message::OthersReady>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.node_->set_others_ready(static_cast<uint64_t>(m.step));
    }),
    loop::on<message::OthersLost>([](NodeAgent& n, const auto& m) {
      if (n.is_mine(m.attempt)) n.node_->set_others_lost();
    }),
};

void NodeAgent::receive(Value message) { kRoutes.deliver(*this, std::move(message)); }

void NodeAgent::start(NodeOrder order) {
  order_ = std::move(order);
  if (order_.is_local && files_.endpoints == nullptr) {
    throw Error(Code::kArgument, "the workers of this node are not there: its agent starts them");
  }
  holds_for_controller_ = false;
  lost_.clear();
  running_ = 0;
  spares_ = 0;
  ++num_starts_;
  node_.reset();
  places_.emplace(gpus_, order_.gpus_per_worker, order_.accelerator_type);
  node_ = std::make_unique<LocalNode>(loop_, order_, files_, *places_, *this);
  apply_hold();
  node_->set_lease(lease_s_);
  node_->spawn();
  facts_timer_.start(facts_every_);
}

void NodeAgent::replace(int rank) {
  node_->replace(rank);
  node_->set_lease(lease_s_);
  facts_timer_.start(facts_every_);
}

void NodeAgent::make_spare(const std::string& frame) {
  ++spares_;
  node_->make_spare(frame);
}

void NodeAgent::kill(const message::KillWorkers& kill) {
  if (!kill.rank) return node_->kill();
  kill.reason.empty() ? node_->kill(*kill.rank) : node_->refuse(*kill.rank, kill.reason);
}

void NodeAgent::kill(const std::string& reason) {
  if (!is_busy()) return;
  if (lost_.empty()) lost_ = reason;
  node_->kill();
}

void NodeAgent::set_lease(double until_s) {
  lease_s_ = until_s;
  if (node_) node_->set_lease(until_s);
}

void NodeAgent::hold_output(bool held) {
  holds_for_link_ = held;
  apply_hold();
}

void NodeAgent::apply_hold() {
  if (node_) node_->hold_output(holds_for_link_ || holds_for_controller_);
}

void NodeAgent::send_facts() {
  if (!is_busy()) return;
  facts_timer_.start(facts_every_);
  message::NodeFacts facts{.attempt = order_.attempt,
                           .now_s = monotonic_s(),
                           .copied_bytes = static_cast<int64_t>(node_->copied_bytes())};
  facts.spares = spares_;
  facts.has_spare = node_->has_spare();
  for (int i = 0; i < order_.num_workers; ++i) {
    facts.ranks.push_back(node_->facts(order_.first_rank + i));
  }
  send_(std::move(facts));
}

void NodeAgent::on_spawned(int rank, const SpawnedWorker& worker) {
  ++running_;
  send_(message::Spawned{
      .attempt = order_.attempt, .rank = rank, .now_s = monotonic_s(), .worker = worker});
}

void NodeAgent::on_spawn_failed(int rank, const Error& error, bool is_transient) {
  send_(message::SpawnFailed{
      .attempt = order_.attempt, .rank = rank, .error = error, .is_transient = is_transient});
}

void NodeAgent::on_frame(int rank, std::string frame) {
  send_(message::FromRank{.attempt = order_.attempt, .rank = rank, .frame = std::move(frame)});
}

void NodeAgent::on_output(int rank, OutputStream stream, std::string_view bytes) {
  send_(message::Printed{
      .attempt = order_.attempt, .rank = rank, .stream = stream, .bytes = std::string(bytes)});
}

// Passes on the rank's earlier messages first, because they may say that it has returned or why it
// ends.
void NodeAgent::on_dying(int rank) {
  node_->drain();
  send_(message::Dying{.attempt = order_.attempt, .rank = rank});
}

void NodeAgent::on_gone(int rank, const WorkerEnd& end) {
  --running_;
  node_->drain();
  WorkerEnd whole = end;
  whole.lost = lost_;
  send_(message::Gone{.attempt = order_.attempt, .rank = rank, .end = std::move(whole)});
}

void NodeAgent::on_series(store::SeriesChunk chunk) {
  const int rank = static_cast<int>(chunk.rank);
  send_(message::DeviceSeries{.attempt = order_.attempt, .rank = rank, .series = std::move(chunk)});
}

void NodeAgent::on_device_fault(const DeviceFault& fault) {
  send_(message::DeviceFailed{.attempt = order_.attempt, .fault = fault});
}

}  // namespace rtrain::node
