#include "host/node/remote_node.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/store/series/series_store.h"

namespace rtrain::node {
namespace {

void check_finite(double number, std::string_view what) {
  if (!std::isfinite(number)) throw Error(Code::kArgument, cat(what, " is ", number));
}

void check_times(const decide::RankFacts& facts) {
  check_finite(facts.cpu_s, "cpu");
  check_finite(facts.beat_s, "beat");
  if (facts.wait) check_finite(facts.wait->since_s, "since");
  if (facts.device) check_finite(facts.device->since_s, "since");
  for (const decide::CollectiveFacts& call : facts.calls) check_finite(call.time_s, "time");
  if (facts.times) check_finite(facts.times->total_s(), "times");
  check_finite(facts.host.starved_s + facts.host.stolen_s + facts.host.cores, "host");
}

}  // namespace

RemoteNode::RemoteNode(NodeOrder order, Send send, NodeDelegate& delegate)
    : order_(std::move(order)),
      send_(std::move(send)),
      delegate_(&delegate),
      ranks_(static_cast<size_t>(order_.num_workers)) {}

const RemoteNode::Rank& RemoteNode::at(int rank) const {
  const int place = rank - order_.first_rank;
  if (place < 0 || place >= order_.num_workers) {
    throw Error(Code::kArgument, cat("rank ", rank, " is of another node"));
  }
  return ranks_[static_cast<size_t>(place)];
}

RemoteNode::Rank& RemoteNode::at(int rank) {
  return const_cast<Rank&>(std::as_const(*this).at(rank));
}

void RemoteNode::spawn() {
  try {
    send_(order_);
  } catch (const Error& e) {
    const Error error(Code::kConfig, cat("worker_runtime_env: its variables are too large for "
                                         "workers on other nodes: ",
                                         e.message()));
    delegate_->on_spawn_failed(order_.first_rank, error, false);
  }
}

void RemoteNode::send(int rank, std::string_view frame) {
  if (at(rank).is_gone) return;
  send_(message::ToRank{.attempt = order_.attempt, .rank = rank, .frame = std::string(frame)});
}

void RemoteNode::set_attached(int rank, int pid) {
  at(rank).pid = pid;
  send_(message::Attached{.attempt = order_.attempt, .rank = rank, .pid = pid});
}

// Its workers keep the attempt in which they were started, so their messages in between are not
// late.
void RemoteNode::hand_over(NodeDelegate& delegate) {
  delegate_ = &delegate;
  for (Rank& rank : ranks_) rank.facts.calls.clear();  // a new group counts its collectives again
  send_(message::HandOver{.attempt = order_.attempt});
}

void RemoteNode::replace(int rank) {
  at(rank) = {};
  send_(message::ReplaceWorker{.attempt = order_.attempt, .rank = rank});
}

void RemoteNode::make_spare(std::string_view frame) {
  ++spares_;
  has_spare_ = true;
  send_(message::MakeSpare{.attempt = order_.attempt, .frame = std::string(frame)});
}

void RemoteNode::drop_spare() {
  has_spare_ = false;
  send_(message::DropSpare{.attempt = order_.attempt});
}

void RemoteNode::kill(int rank) {
  send_(message::KillWorkers{.attempt = order_.attempt, .rank = rank, .reason = {}});
}

void RemoteNode::leave_out(int rank) {
  send_(message::LeaveOutWorker{.attempt = order_.attempt, .rank = rank});
}

void RemoteNode::keep(int rank, uint64_t step, std::string_view bytes) {
  send_(message::KeepCommit{.attempt = order_.attempt,
                            .rank = rank,
                            .step = static_cast<int64_t>(step),
                            .bytes = std::string(bytes)});
}

void RemoteNode::set_others_ready(uint64_t step) {
  send_(message::OthersReady{.attempt = order_.attempt, .step = static_cast<int64_t>(step)});
}

void RemoteNode::hold_output(bool held) {
  if (std::exchange(holds_output_, held) == held) return;
  send_(message::HoldOutput{.attempt = order_.attempt, .held = held});
}

const loop::Routes<message::FromNode, RemoteNode> RemoteNode::kRoutes{
    loop::on<message::Spawned>([](RemoteNode& n, const auto& m) {
      if (n.is_of_live_rank(m)) n.on_spawned(m);
    }),
    loop::on<message::SpawnFailed>([](RemoteNode& n, const auto& m) {
      if (n.is_of_live_rank(m)) n.delegate_->on_spawn_failed(m.rank, m.error, m.is_transient);
    }),
    loop::on<message::FromRank>([](RemoteNode& n, auto m) {
      if (n.is_of_live_rank(m)) n.on_frame(std::move(m));
    }),
    loop::on<message::Printed>([](RemoteNode& n, const auto& m) {
      if (n.is_of_live_rank(m)) n.delegate_->on_output(m.rank, m.stream, m.bytes);
    }),
    loop::on<message::Dying>([](RemoteNode& n, const auto& m) {
      if (n.is_of_live_rank(m)) n.delegate_->on_dying(m.rank);
    }),
    loop::on<message::Gone>([](RemoteNode& n, const auto& m) {
      if (n.is_of_live_rank(m)) n.on_gone(m);
    }),
    loop::on<message::NodeFacts>([](RemoteNode& n, auto m) {
      if (!n.is_mine(m.attempt)) return;
      n.check_rank(m.rank);
      n.on_facts(std::move(m));
    }),
    loop::on<message::DeviceSeries>([](RemoteNode& n, auto m) {
      if (!n.is_mine(m.attempt)) return;
      n.check_rank(m.rank);
      store::check_key(m.series);
      n.delegate_->on_series(store::SeriesChunk{std::move(m.series), m.attempt, m.rank});
    }),
    loop::on<message::DeviceFailed>([](RemoteNode& n, const auto& m) {
      if (!n.is_mine(m.attempt)) return;
      n.check_rank(m.fault.rank);
      n.delegate_->on_device_fault(m.fault);
    }),
};

void RemoteNode::receive(Value message) { kRoutes.deliver(*this, std::move(message)); }

// Nobody owns a late message, which all ignore, or one about a rank of another node, which is
// refused.
void RemoteNode::receive(const std::vector<RemoteNode*>& nodes, Value message) {
  const auto owner =
      std::ranges::find_if(nodes, [&](const RemoteNode* node) { return node->owns(message); });
  if (owner != nodes.end()) return (*owner)->receive(std::move(message));
  for (RemoteNode* const node : nodes) node->receive(message);
}

bool RemoteNode::owns(const Value& message) const {
  const Value& fault = message["fault"];
  const int64_t rank = (fault.is_nil() ? message["rank"] : fault["rank"]).as_int();
  const int64_t place = rank - order_.first_rank;
  return message["attempt"].as_int() == order_.attempt && place >= 0 && place < order_.num_workers;
}

// The offset stays the same for the whole attempt, because times of one wait are compared with each
// other.
void RemoteNode::on_spawned(const message::Spawned& spawned) {
  check_finite(spawned.now_s, "now");
  if (spawned.worker.pid < 0 || spawned.worker.threads < 0) {
    throw Error(Code::kArgument, cat("rank ", spawned.rank, " is process ", spawned.worker.pid,
                                     " with ", spawned.worker.threads, " threads"));
  }
  if (at(spawned.rank).is_spawned) {
    throw Error(Code::kArgument, cat("rank ", spawned.rank, " was started before"));
  }
  if (!has_clock_) clock_offset_s_ = monotonic_s() - spawned.now_s;
  has_clock_ = true;
  at(spawned.rank).is_spawned = true;
  at(spawned.rank).pid = spawned.worker.pid;
  delegate_->on_spawned(spawned.rank, spawned.worker);
}

void RemoteNode::on_frame(message::FromRank frame) {
  try {
    delegate_->on_frame(frame.rank, std::move(frame.frame));
  } catch (const Error& e) {
    send_(
        message::KillWorkers{.attempt = order_.attempt, .rank = frame.rank, .reason = e.message()});
  }
}

void RemoteNode::on_gone(const message::Gone& gone) {
  at(gone.rank).is_gone = true;
  delegate_->on_gone(gone.rank, gone.end);
}

bool RemoteNode::is_running() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const Rank& rank) { return rank.is_spawned && !rank.is_gone; });
}

void RemoteNode::lose(const std::string& reason) {
  for (int i = 0; i < order_.num_workers; ++i) {
    Rank& rank = ranks_[static_cast<size_t>(i)];
    if (std::exchange(rank.is_gone, true)) continue;
    delegate_->on_gone(
        order_.first_rank + i,
        {.pid = rank.pid, .is_child = false, .status = {}, .broken = {}, .lost = reason});
  }
}

void RemoteNode::on_facts(message::NodeFacts facts) {
  if (facts.copied_bytes < 0) {
    throw Error(Code::kArgument, cat(facts.copied_bytes, " bytes copied"));
  }
  check_finite(facts.now_s, "now");
  for (const decide::RankFacts& rank : facts.ranks) check_times(rank);
  if (facts.rank != order_.first_rank || facts.ranks.size() != ranks_.size()) {
    throw Error(Code::kArgument,
                cat("facts of ", facts.ranks.size(), " ranks from ", facts.rank,
                    " on, the node has ", ranks_.size(), " from ", order_.first_rank, " on"));
  }
  copied_bytes_ = static_cast<uint64_t>(facts.copied_bytes);
  if (facts.spares == spares_) has_spare_ = facts.has_spare;
  nearest_offset_s_ = std::min(nearest_offset_s_, monotonic_s() - facts.now_s);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].facts = on_this_clock(std::move(facts.ranks[i]));
  }
}

decide::RankFacts RemoteNode::on_this_clock(decide::RankFacts facts) const {
  if (facts.wait) facts.wait->since_s += clock_offset_s_;
  if (facts.device) facts.device->since_s += clock_offset_s_;
  for (decide::CollectiveFacts& call : facts.calls) call.time_s += nearest_offset_s_;
  return facts;
}

}  // namespace rtrain::node
