#include "host/node/node_agent.h"

#include <algorithm>
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
      n.of(m, [&](Group& g) { g.node->send(m.rank, m.frame); });
    }),
    loop::on<message::Attached>([](NodeAgent& n, const auto& m) {
      n.of(m, [&](Group& g) { g.node->set_attached(m.rank, m.pid); });
    }),
    loop::on<message::HoldOutput>([](NodeAgent& n, const auto& m) {
      n.holds_for_controller_ = m.held;
      n.apply_hold();
    }),
    loop::on<message::KillWorkers>(
        [](NodeAgent& n, const auto& m) { n.of(m, [&](Group& g) { kill(g, m); }); }),
    loop::on<message::CloseWorkers>(
        [](NodeAgent& n, const auto& m) { n.of(m, [](Group& g) { g.node->close(); }); }),
    loop::on<message::HandOver>(
        [](NodeAgent& n, const auto& m) { n.of(m, [&](Group& g) { g.node->hand_over(n); }); }),
    loop::on<message::ReplaceWorker>(
        [](NodeAgent& n, const auto& m) { n.of(m, [&](Group& g) { n.replace(g, m.rank); }); }),
    loop::on<message::MakeSpare>(
        [](NodeAgent& n, const auto& m) { n.of(m, [&](Group& g) { make_spare(g, m.frame); }); }),
    loop::on<message::DropSpare>(
        [](NodeAgent& n, const auto& m) { n.of(m, [](Group& g) { g.node->drop_spare(); }); }),
    loop::on<message::LeaveOutWorker>(
        [](NodeAgent& n, const auto& m) { n.of(m, [&](Group& g) { g.node->leave_out(m.rank); }); }),
    loop::on<message::KeepCommit>([](NodeAgent& n, const auto& m) {
      n.of(m, [&](Group& g) { g.node->keep(m.rank, static_cast<uint64_t>(m.step), m.bytes); });
    }),
    loop::on<message::OthersReady>([](NodeAgent& n, const auto& m) {
      n.of(m, [&](Group& g) { g.node->set_others_ready(static_cast<uint64_t>(m.step)); });
    }),
    loop::on<message::OthersLost>(
        [](NodeAgent& n, const auto& m) { n.of(m, [](Group& g) { g.node->set_others_lost(); }); }),
};

void NodeAgent::receive(Value message) { kRoutes.deliver(*this, std::move(message)); }

bool NodeAgent::Group::is_of(std::optional<int> rank) const {
  return !rank || (*rank >= order.first_rank && *rank < order.first_rank + order.num_workers);
}

NodeAgent::Group& NodeAgent::group_of(int rank) {
  const auto found =
      std::ranges::find_if(groups_, [rank](const Group& each) { return each.is_of(rank); });
  RT_CHECK(found != groups_.end());
  return *found;
}

bool NodeAgent::is_busy() const {
  return std::ranges::any_of(groups_, [](const Group& each) { return each.running > 0; });
}

bool NodeAgent::has(int attempt) const {
  return std::ranges::any_of(
      groups_, [attempt](const Group& each) { return each.order.attempt == attempt; });
}

void NodeAgent::start(NodeOrder order) {
  if (order.is_local && files_.endpoints == nullptr) {
    throw Error(Code::kArgument, "the workers of this node are not there: its agent starts them");
  }
  const bool is_first = order.first_local_rank == 0;
  if (is_first) {
    groups_.clear();
    holds_for_controller_ = false;
    lost_.clear();
  }
  ++num_starts_;
  if (is_first || !places_) {
    places_.emplace(gpus_, order.gpus_per_worker, order.accelerator_type);
  }
  Group& group = groups_.emplace_back();
  group.order = std::move(order);
  group.node = std::make_unique<LocalNode>(loop_, group.order, files_, *places_, *this);
  apply_hold();
  group.node->set_lease(lease_s_);
  group.node->spawn();
  facts_timer_.start(facts_every_);
}

void NodeAgent::replace(Group& group, int rank) {
  group.node->replace(rank);
  group.node->set_lease(lease_s_);
  facts_timer_.start(facts_every_);
}

void NodeAgent::make_spare(Group& group, const std::string& frame) {
  ++group.spares;
  group.node->make_spare(frame);
}

void NodeAgent::kill(Group& group, const message::KillWorkers& kill) {
  if (!kill.rank) return group.node->kill();
  kill.reason.empty() ? group.node->kill(*kill.rank) : group.node->refuse(*kill.rank, kill.reason);
}

void NodeAgent::kill(const std::string& reason) {
  if (!is_busy()) return;
  if (lost_.empty()) lost_ = reason;
  for (Group& group : groups_) group.node->kill();
}

void NodeAgent::set_lease(double until_s) {
  lease_s_ = until_s;
  for (Group& group : groups_) group.node->set_lease(until_s);
}

void NodeAgent::hold_output(bool held) {
  holds_for_link_ = held;
  apply_hold();
}

void NodeAgent::apply_hold() {
  for (Group& group : groups_) {
    group.node->hold_output(holds_for_link_ || holds_for_controller_);
  }
}

void NodeAgent::send_facts() {
  if (!is_busy()) return;
  facts_timer_.start(facts_every_);
  for (const Group& group : groups_) {
    if (group.running > 0) send_facts(group);
  }
}

void NodeAgent::send_facts(const Group& group) {
  message::NodeFacts facts{.attempt = group.order.attempt,
                           .rank = group.order.first_rank,
                           .now_s = monotonic_s(),
                           .copied_bytes = static_cast<int64_t>(group.node->copied_bytes())};
  facts.spares = group.spares;
  facts.has_spare = group.node->has_spare();
  for (int i = 0; i < group.order.num_workers; ++i) {
    facts.ranks.push_back(group.node->facts(group.order.first_rank + i));
  }
  send_(std::move(facts));
}

void NodeAgent::on_spawned(int rank, const SpawnedWorker& worker) {
  Group& group = group_of(rank);
  ++group.running;
  send_(message::Spawned{
      .attempt = group.order.attempt, .rank = rank, .now_s = monotonic_s(), .worker = worker});
}

void NodeAgent::on_spawn_failed(int rank, const Error& error, bool is_transient) {
  send_(message::SpawnFailed{.attempt = group_of(rank).order.attempt,
                             .rank = rank,
                             .error = error,
                             .is_transient = is_transient});
}

void NodeAgent::on_frame(int rank, std::string frame) {
  send_(message::FromRank{
      .attempt = group_of(rank).order.attempt, .rank = rank, .frame = std::move(frame)});
}

void NodeAgent::on_output(int rank, OutputStream stream, std::string_view bytes) {
  send_(message::Printed{.attempt = group_of(rank).order.attempt,
                         .rank = rank,
                         .stream = stream,
                         .bytes = std::string(bytes)});
}

// Passes on the rank's earlier messages first, because they may say that it has returned or why it
// ends.
void NodeAgent::on_dying(int rank) {
  Group& group = group_of(rank);
  group.node->drain();
  send_(message::Dying{.attempt = group.order.attempt, .rank = rank});
}

void NodeAgent::on_gone(int rank, const WorkerEnd& end) {
  Group& group = group_of(rank);
  --group.running;
  group.node->drain();
  WorkerEnd whole = end;
  whole.lost = lost_;
  send_(message::Gone{.attempt = group.order.attempt, .rank = rank, .end = std::move(whole)});
}

void NodeAgent::on_series(store::SeriesChunk chunk) {
  const int rank = static_cast<int>(chunk.rank);
  send_(message::DeviceSeries{
      .attempt = group_of(rank).order.attempt, .rank = rank, .series = std::move(chunk)});
}

void NodeAgent::on_device_fault(const DeviceFault& fault) {
  send_(message::DeviceFailed{.attempt = group_of(fault.rank).order.attempt, .fault = fault});
}

}  // namespace rtrain::node
