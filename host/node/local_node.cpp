#include "host/node/local_node.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/decide/spare.h"
#include "host/machine/machine.h"
#include "host/machine/network.h"
#include "host/machine/oom_kills.h"
#include "host/machine/processes/priority.h"
#include "host/machine/processes/process_facts.h"
#include "host/node/workers/page_facts.h"
#include "host/node/workers/worker_threads.h"

namespace rtrain::node {

LocalNode::LocalNode(loop::Loop& loop, const NodeOrder& order, const NodeFiles& files,
                     const WorkerPlaces& places, NodeDelegate& delegate)
    : order_(order),
      endpoints_(files.endpoints),
      places_(places),
      delegate_(&delegate),
      threads_(
          worker_threads(order.threads, order.env, order.first_local_rank + order.num_workers)),
      oom_kills_before_(machine::oom_kills().value_or(0)),
      board_(order.first_rank + order.num_workers),
      commits_(board_.size(), order.first_rank),
      is_gone_(static_cast<size_t>(board_.size())),
      gpus_of_(static_cast<size_t>(order.num_workers)),
      deaths_(loop, board_, [this](int rank) { on_dying(rank); }),
      gpus_(loop, order.attempt, *this),
      processes_(loop, order.attempt, *this),
      group_(loop, group_options(files, places), *this) {}

WorkerGroupOptions LocalNode::group_options(const NodeFiles& files,
                                            const WorkerPlaces& places) const {
  WorkerGroupOptions options;
  options.first_rank = order_.first_rank;
  options.num_workers = order_.num_workers;
  options.local = order_.is_local;
  options.functions_fd = files.functions_fd;
  options.progress_fd = board_.fd();
  options.engine_fd = files.engine_fd;
  options.commits_fd = commits_.fd();
  options.zygote = files.zygote;
  options.env = order_.env;
  std::erase_if(options.env, [](const auto& each) { return each.first == "OMP_NUM_THREADS"; });
  options.env.emplace_back("OMP_NUM_THREADS", std::to_string(threads_));
  add_interfaces(options.env);
  if (const auto visible = places.visible_devices()) {
    options.env.emplace_back(kVisibleDevices, *visible);
  }
  return options;
}

// Binds Gloo and NCCL to the interface that the nodes use for each other, unless the user has
// chosen another one.
void LocalNode::add_interfaces(std::vector<std::pair<std::string, std::string>>& env) const {
  for (const auto& [name, interface] : machine::interface_settings(order_.address)) {
    const bool is_given = std::any_of(
        env.begin(), env.end(), [&name = name](const auto& each) { return each.first == name; });
    if (!is_given && std::getenv(name.c_str()) == nullptr) env.emplace_back(name, interface);
  }
}

void LocalNode::spawn() {
  const int end = order_.first_rank + order_.num_workers;
  int rank = order_.first_rank;
  const auto next = [this](const WorkerPlace& place) { group_.spawn_next(place); };
  std::vector<RankGpu> gpus;
  while (rank < end && start(rank, next)) {
    const std::vector<WorkerGpu>& own = gpus_of(rank);
    for (size_t i = 0; i < own.size(); ++i) gpus.push_back({rank, static_cast<int>(i), own[i]});
    ++rank;
  }
  gpus_.start(std::move(gpus), order_.gpu_sample_s);
  processes_.start({.first_rank = order_.first_rank,
                    .num_ranks = order_.num_workers,
                    .interval_s = order_.host_sample_s});
  if (order_.is_local && rank == end) offer_endpoints();
}

void LocalNode::close() {
  gpus_.stop();
  processes_.stop();
}

int LocalNode::living_pid(int rank) const {
  return is_started(rank) && !is_gone_.at(static_cast<size_t>(rank)) ? group_.pid(rank) : 0;
}

// The first worker may be a thread of this process, which does nothing else meanwhile.
void LocalNode::offer_endpoints() {
  for (int i = order_.num_workers - 1; i >= 0; --i) {
    endpoints_->offer(i, group_.take_endpoint(order_.first_rank + i));
  }
}

bool LocalNode::start(int rank, const std::function<void(const WorkerPlace& place)>& spawn) {
  const WorkerPlace place = place_of(rank);
  gpus_of(rank) = place.gpus;
  try {
    spawn(place);
  } catch (const Error& e) {
    const auto* refused = dynamic_cast<const loop::SpawnError*>(&e);
    delegate_->on_spawn_failed(rank, e, refused != nullptr && refused->is_transient());
    return false;
  }
  if (order_.is_local) on_started(rank);
  return true;
}

void LocalNode::on_started(int rank) {
  delegate_->on_spawned(rank,
                        {.pid = group_.pid(rank), .threads = threads_, .gpus = gpus_of(rank)});
}

void LocalNode::hand_over(NodeDelegate& delegate) {
  delegate_ = &delegate;
  commits_.set_others_lost(false);
}

void LocalNode::replace(int rank) {
  deaths_.forget(rank);
  const int spare = board_.spare();
  const bool is_ready =
      group_.is_spare_there() && board_.page(spare).attached.load(std::memory_order_acquire) != 0;
  is_ready ? board_.take_spare(rank) : board_.renew(rank);
  is_gone_.at(static_cast<size_t>(rank)) = false;
  start(rank, [this, rank, is_ready](const WorkerPlace& place) {
    is_ready ? group_.replace_by_spare(rank, place) : group_.replace(rank, place);
  });
}

void LocalNode::make_spare(std::string_view frame) {
  const int64_t bytes = rank_bytes();
  if (!affords_spare(bytes)) return;
  board_.renew(board_.spare());
  board_.page(board_.spare()).memory_bytes.store(bytes, std::memory_order_relaxed);
  try {
    group_.start_spare({.number = board_.spare(), .frame = std::string(frame)}, place_of_spare());
  } catch (const Error&) {
    // The next loss starts a process then, and says why where it cannot.
  }
}

int64_t LocalNode::rank_bytes() const {
  int64_t most = 0;
  for (int rank = order_.first_rank; rank < board_.size(); ++rank) {
    const int pid = living_pid(rank);
    if (pid != 0) most = std::max(most, machine::process_facts(pid).memory_bytes);
  }
  return most;
}

bool LocalNode::affords_spare(int64_t bytes) {
  decide::SpareCost cost{.bytes = bytes, .available_bytes = machine::available_memory_bytes()};
  for (int rank = order_.first_rank; rank < board_.size(); ++rank) {
    cost.has_devices |= !gpus_of(rank).empty();
  }
  cost.idle_cores = machine::available_cores() - order_.num_workers * threads_;
  cost.may_be_nice = machine::may_restore_priority();
  return decide::is_affordable(cost);
}

WorkerPlace LocalNode::place_of(int rank) const {
  return places_.place(order_.first_local_rank + rank - order_.first_rank,
                       order_.first_local_rank + order_.num_workers);
}

// It may become any rank of the node: until then it holds the cores of all of them.
WorkerPlace LocalNode::place_of_spare() const {
  WorkerPlace all;
  for (int rank = order_.first_rank; rank < board_.size(); ++rank) {
    const WorkerPlace own = place_of(rank);
    all.lease_fds.insert(all.lease_fds.end(), own.lease_fds.begin(), own.lease_fds.end());
    all.cpus.insert(all.cpus.end(), own.cpus.begin(), own.cpus.end());
  }
  return all;
}

void LocalNode::leave_out(int rank) {
  commits_.leave_out(rank);
  processes_.leave_out(rank);
}

void LocalNode::keep(int rank, uint64_t step, std::string_view bytes) {
  commits_.write(rank, pages::CommitBoard::Part::kPrepared, step, bytes);
}

void LocalNode::set_lease(double until_s) {
  for (int rank = order_.first_rank; rank <= board_.spare(); ++rank) {
    board_.page(rank).lease_s.store(until_s, std::memory_order_relaxed);
  }
}

void LocalNode::send(int rank, std::string_view frame) {
  if (is_started(rank)) group_.send(rank, frame);
}

void LocalNode::set_attached(int rank, int pid) {
  if (order_.is_local) group_.set_pid(rank, pid);
  deaths_.start(rank);
}

void LocalNode::kill() {
  if (order_.is_local) endpoints_->withdraw();
  group_.kill();
}

void LocalNode::hold_output(bool held) {
  if (held == holds_output_) return;
  holds_output_ = held;
  group_.hold_output(held);
}

decide::RankFacts LocalNode::facts(int rank) const {
  const int pid = living_pid(rank);
  decide::RankFacts out = read_facts(board_.page(rank), is_started(rank) ? group_.pid(rank) : 0);
  if (out.times) out.host = host_.facts(rank, pid, monotonic_s());
  return out;
}

void LocalNode::on_device_state(int rank, const machine::GpuState& state) {
  host_.set_slowed_by(rank, join(state.slowed_by, ", "));
}

void LocalNode::on_frame(int rank, std::string frame) {
  delegate_->on_frame(rank, std::move(frame));
}

void LocalNode::on_output(int rank, OutputStream stream, std::string_view bytes) {
  delegate_->on_output(rank, stream, bytes);
}

// Marks the rank in the commit board, so that ranks waiting for its next commit notice before the
// controller has decided.
void LocalNode::on_dying(int rank) {
  if (is_gone_.at(static_cast<size_t>(rank))) return;
  commits_.set_absent(rank, true);
  delegate_->on_dying(rank);
}

void LocalNode::on_gone(int rank, const WorkerEnd& end) {
  is_gone_.at(static_cast<size_t>(rank)) = true;
  commits_.set_absent(rank, true);
  WorkerEnd whole = end;
  whole.last = read_last_moments(board_.page(rank).crash);
  whole.oom_kills = machine::oom_kills().value_or(oom_kills_before_) - oom_kills_before_;
  delegate_->on_gone(rank, whole);
}

}  // namespace rtrain::node
