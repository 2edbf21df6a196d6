#include "host/train/attempt.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/fault.h"
#include "host/base/text/text.h"
#include "host/machine/xid.h"
#include "host/train/watch/diag_folder.h"
#include "host/train/watch/worker_death.h"

namespace rtrain::train {
namespace {

constexpr std::chrono::seconds kKillNotice{5};
constexpr std::chrono::seconds kLookAtSpares{1};
// A train function in the script's process has this long to raise the error that ends it.
constexpr std::chrono::seconds kEndpointPatience{2};
constexpr std::chrono::seconds kEndpointNotice{60};

}  // namespace

Attempt::Attempt(const AttemptContext& context, AttemptDelegate& delegate, int number,
                 int num_workers, RunRecord::AttemptStart start, NodeGroup nodes)
    : context_(context),
      run_(context.run),
      delegate_(delegate),
      number_(number),
      num_workers_(num_workers),
      start_(std::move(start)),
      watchdog_(run_.loop, num_workers, run_.spec.hang_limits(), *this),
      profiles_(run_.loop, [this](int rank, auto message) { send(rank, std::move(message)); }),
      reports_(run_.loop,
               {.world_size = num_workers,
                .first_index = start_.first_index,
                .timeout_s = run_.spec.timeout_s,
                .notice_s = run_.spec.report_notice_s},
               *this),
      extras_(context.writer, [this](int rank, auto message) { send(rank, std::move(message)); }),
      not_finite_(run_.loop, run_.events, num_workers),
      collectives_(std::in_place, run_.loop, num_workers, run_.spec.collectives, *this),
      graceful_shutdown_(run_.loop, num_workers, *this),
      roster_(run_.loop, run_.io, number, num_workers),
      output_(context.writer, run_.events, number, num_workers),
      workers_(static_cast<size_t>(num_workers)),
      shares_(run_.spec.virtual_workers, num_workers),
      kill_notice_(run_.loop, [this] { name_survivors(); }),
      spares_(run_.loop,
              [this] {
                look_at_spares();
                spares_.start(kLookAtSpares);
              }),
      nodes_(std::move(nodes)) {}

Attempt::Attempt(const AttemptContext& context, AttemptDelegate& delegate, int number,
                 int num_workers, RunRecord::AttemptStart start)
    : Attempt(context, delegate, number, num_workers, std::move(start), NodeGroup()) {
  nodes_ = context.resources.nodes(node_order(), *this);
}

Attempt::Attempt(const AttemptContext& context, AttemptDelegate& delegate,
                 const decide::action::HealGroup& order, RunRecord::AttemptStart start,
                 Attempt& before, const std::vector<int>& nodes)
    : Attempt(context, delegate, order.attempt, static_cast<int>(order.kept.size()),
              std::move(start), std::move(before.nodes_)) {
  is_heal_ = true;
  shares_.go_on_from(before.shares_);
  copies_ = std::move(before.copies_);
  nodes_.keep(order.kept);
  nodes_.hand_over(*this);
  move_ranks(nodes_, order.moved, nodes, node_order(), [&](int node, node::NodeOrder part) {
    // With other threads sums may have other bits.
    const auto& lost = before.workers_.at(static_cast<size_t>(part.first_rank));
    if (lost.pid != 0) part.threads = lost.threads;
    return context_.resources.node(node, part, *this);
  });
  // Spares know the old number of workers. Where ranks have come to others they could take a core.
  for (NodeGroup::Member& member : nodes_.members()) {
    if (num_workers_ == before.num_workers_ && !nodes_.is_shared(member)) continue;
    member.node->drop_spare();
    member.spare.on_dropped();
  }
  for (int rank = 0; rank < num_workers_; ++rank) {
    const int old_rank = order.kept[static_cast<size_t>(rank)];
    if (!before.roster_.is_gone(old_rank)) take_over(rank, before, old_rank);
  }
}

void Attempt::take_over(int rank, const Attempt& before, int old_rank) {
  const auto& worker = workers_.at(static_cast<size_t>(rank)) =
      before.workers_.at(static_cast<size_t>(old_rank));
  roster_.add(rank, nodes_.of(rank).name, worker);
  watchdog_.set_pid(rank, worker.pid);
  watchdog_.set_started(rank);
}

void Attempt::on_report(Report report) {
  report.attempt = number_;
  context_.writer.add(std::move(report));
}

void Attempt::on_reports_complete(std::vector<Report> reports) {
  delegate_.on_reports_complete(std::move(reports));
}

size_t Attempt::unwritten_bytes() const {
  return context_.writer.unwritten_bytes() + run_.events.waiting_bytes();
}

void Attempt::on_hang(int rank, const Error& error) {
  tell_evidence(rank, "hang", error.message(), false);
  delegate_.feed(decide::event::Failed{rank, error, monotonic_s()});
}

void Attempt::on_straggler(const decide::Straggler& found) {
  const NodeGroup::Member& member = nodes_.of(found.rank);
  const bool may_evict = nodes_.members().size() > 1 && member.number != 0;
  const auto action =
      decide::straggler_action(run_.spec.failure_config.straggler, found, may_evict);
  if (action == decide::StragglerAction::kNone) return;
  run_.events.emit("straggler", {{"rank", found.rank},
                                 {"host", member.name},
                                 {"cause", decide::cause_name(found.cause)},
                                 {"share", found.share},
                                 {"lost_s", found.lost_s},
                                 {"has_passed", found.has_passed},
                                 {"text", found.text}});
  const double lost_s = found.has_passed ? 0 : found.lost_s;
  context_.writer.add(slow_series_.add(found.rank, "straggler/lost_s", now_ms(), lost_s));
  const std::string where = nodes_.members().size() > 1 ? cat(" on node ", member.name) : "";
  run_.events.notice(found.has_passed ? "info" : "warning",
                     cat("rank ", found.rank, where, " ", found.text));
  if (action == decide::StragglerAction::kEvict) {
    tell_evidence(found.rank, "straggler", cat("rank ", found.rank, " ", found.text), true);
  }
  if (action == decide::StragglerAction::kReplace) {
    delegate_.feed(decide::event::RankSlow{found.rank});
  }
}

void Attempt::on_work(const std::vector<double>& work_s) {
  if (run_.spec.failure_config.straggler != decide::StragglerPolicy::kRebalance) return;
  if (shares_.is_unbalanced(work_s)) delegate_.feed(decide::event::Unbalanced{});
}

node::NodeOrder Attempt::node_order() const {
  return {.attempt = number_,
          .first_rank = 0,
          .num_workers = num_workers_,
          .threads = run_.spec.cpus_per_worker,
          .gpus_per_worker = run_.spec.gpus_per_worker,
          .accelerator_type = run_.spec.accelerator_type,
          .gpu_sample_s = run_.spec.gpu_sample_s,
          .host_sample_s = run_.spec.host_sample_s,
          .env = run_.spec.worker_env,
          .is_local = run_.spec.is_local};
}

void Attempt::spawn() {
  for (const auto& member : nodes_.members()) member.node->spawn();
}

void Attempt::heal(const std::vector<int>& lost) {
  for (const auto& member : nodes_.members()) {
    if (!member.is_moved) continue;
    run_.events.notice("info", moved_text(member));
    start_moved(member, copies_);
  }
  for (const int rank : lost) {
    if (!nodes_.of(rank).is_moved) node(rank).replace(nodes_.place(rank));
  }
  for (int rank = 0; rank < num_workers_; ++rank) {
    if (std::ranges::find(lost, rank) == lost.end()) send(rank, context_of(rank));
  }
}

void Attempt::on_spawned(int place, const node::SpawnedWorker& worker) {
  const auto found = nodes_.rank_at(place);
  if (!found) return;
  const int rank = *found;
  workers_.at(static_cast<size_t>(rank)) = worker;
  roster_.add(rank, nodes_.of(rank).name, worker);
  watchdog_.set_pid(rank, worker.pid);
  run_.events.emit("phase", {{"rank", rank}, {"phase", decide::phase_name(decide::Phase::kSpawn)}});
  for (const node::WorkerGpu& gpu : worker.gpus) {
    run_.events.record(
        "info", cat("rank ", rank, ": cuda:", gpu.number, " is ", gpu.name, " (", gpu.uuid, ")"));
  }
}

void Attempt::on_spawn_failed(int place, const Error& error, bool is_transient) {
  const auto rank = nodes_.rank_at(place);
  if (!rank) return;
  const NodeGroup::Member& member = nodes_.of(*rank);
  const bool is_alone = is_heal_ && !member.is_moved;
  const int end = is_alone ? *rank + 1 : member.first_rank + member.num_workers;
  delegate_.feed(decide::event::SpawnFailed{error, *rank, end, is_transient});
}

// The node may have belonged to another attempt, so attempt and rank are set again.
void Attempt::on_series(store::SeriesChunk chunk) {
  const auto rank = nodes_.rank_at(static_cast<int>(chunk.rank));
  if (!rank) return;
  chunk.attempt = number_;
  chunk.rank = *rank;
  context_.writer.add(std::move(chunk));
}

void Attempt::on_device_fault(const node::DeviceFault& seen) {
  const auto rank = nodes_.rank_at(seen.rank);
  if (!rank) return;
  node::DeviceFault fault = seen;
  fault.rank = *rank;
  faults_.add(fault);
  warn(to_text(fault));
  tell_evidence(fault.rank, "xid", to_text(fault), machine::is_hardware_xid(fault.xid));
}

void Attempt::tell_evidence(int rank, const std::string& kind, const std::string& text,
                            bool is_conclusive) {
  const NodeGroup::Member& member = nodes_.of(rank);
  delegate_.on_evidence({.node = member.number,
                         .host = member.name,
                         .kind = kind,
                         .text = text,
                         .is_conclusive = is_conclusive,
                         .rank = rank});
}

std::vector<node::WorkerGpu> Attempt::gpus() const {
  std::vector<node::WorkerGpu> out;
  for (const node::SpawnedWorker& worker : workers_) {
    out.insert(out.end(), worker.gpus.begin(), worker.gpus.end());
  }
  return out;
}

void Attempt::send_start(int rank) {
  fault_point("group.start");
  loop::WorkerContext context = context_of(rank);
  context.is_replacement = is_heal_;
  send(rank, std::move(context));
}

loop::WorkerContext Attempt::context_of(int rank) const {
  loop::WorkerContext context = run_.worker_context(number_);
  const NodeGroup::Member& member = nodes_.of(rank);
  context.world_size = num_workers_;
  context.world_rank = rank;
  context.place = nodes_.place(rank);
  context.is_copied = is_copied(member);
  context.local_world_size = member.num_workers;
  context.local_rank = rank - member.first_rank;
  context.node_rank = member.node_rank;
  context.node_number = member.number;
  context.address = member.address;
  context.far_path = member.far_path;
  context.nonce = start_.nonce;
  context.log_bytes = run_.spec.log_bytes;
  context.collective_timeout_s = run_.spec.collectives.timeout_s;
  const node::SpawnedWorker& worker = workers_.at(static_cast<size_t>(rank));
  context.threads = worker.threads;
  for (const node::WorkerGpu& gpu : worker.gpus) context.gpus.push_back(gpu.number);
  context.first_index = start_.first_index;
  context.carried = start_.carried;
  context.shares = shares_.uneven();
  context.can_grow = num_workers_ < run_.spec.max_workers;
  context.starting_checkpoint = start_.checkpoint;
  return context;
}

// Where this node is lost nobody is left. An elastic group goes on without a lost one.
bool Attempt::is_copied(const NodeGroup::Member& member) const {
  const bool is_fixed = run_.spec.min_workers == run_.spec.max_workers;
  return member.number != 0 && nodes_.members().size() > 1 && is_fixed &&
         run_.spec.failure_config.max_heals != 0;
}

// What is the same for all ranks of the node, and in later attempts.
loop::WorkerContext Attempt::context_of_spare(const NodeGroup::Member& member) const {
  loop::WorkerContext context = context_of(member.first_rank);
  context.is_spare = context.is_replacement = true;
  context.starting_checkpoint.reset();
  return context;
}

void Attempt::keep_spares(bool are) {
  for (NodeGroup::Member& member : nodes_.members()) {
    are ? member.spare.on_settled(monotonic_s()) : member.spare.on_over();
  }
  look_at_spares();
  are ? spares_.start(kLookAtSpares) : spares_.stop();
}

void Attempt::look_at_spares() {
  for (NodeGroup::Member& member : nodes_.members()) {
    if (nodes_.is_shared(member)) continue;
    switch (member.spare.next(monotonic_s(), member.node->has_spare())) {
      case decide::Spare::Order::kMake:
        member.node->make_spare(encode(to_value(context_of_spare(member))));
        break;
      case decide::Spare::Order::kDrop:
        member.node->drop_spare();
        break;
      case decide::Spare::Order::kNone:
        break;
    }
  }
}

void Attempt::send(int rank, message::ToWorker message) {
  send_frame(rank, encode(to_value(std::move(message))));
}

void Attempt::send_all(message::ToWorker message) {
  const std::string frame = encode(to_value(std::move(message)));
  for (int rank = 0; rank < num_workers_; ++rank) send_frame(rank, frame);
}

void Attempt::kill() {
  watchdog_.stop();
  spares_.stop();
  for (const auto& member : nodes_.members()) member.node->kill();
  kill_notice_.start(run_.spec.is_local ? kEndpointPatience : kKillNotice);
}

// A process that waits in the kernel ends only after its wait, in spite of SIGKILL.
void Attempt::name_survivors() {
  if (run_.spec.is_local) return abandon_endpoints();
  for (int rank = 0; rank < roster_.size(); ++rank) {
    if (!roster_.is_running(rank)) continue;
    const NodeGroup::Member& member = nodes_.of(rank);
    const std::string text = cat("rank ", rank, " (pid ", roster_.pid(rank), ") has not ended ",
                                 kKillNotice.count(), " s after ");
    const std::string waits = "waits in the kernel, for a disk, a network file system or a device";
    if (member.number == 0) {
      warn(cat(text, "SIGKILL: it ", waits));
    } else {
      warn(cat(text, "node ", member.name, " was to kill it: the node is lost or cut off, ",
               "which is known after ", run_.spec.failure_config.node_timeout_s,
               " s (FailureConfig.node_timeout_s), or the process ", waits));
    }
  }
}

// A train function in the script's own process cannot be killed alone. If the run was asked to
// stop, it ends without the function, and then ends the process.
void Attempt::abandon_endpoints() {
  const bool abandons = delegate_.abandons_function();
  if (!abandons) kill_notice_.start(kEndpointNotice);
  for (int rank = 0; rank < roster_.size(); ++rank) {
    if (!roster_.is_running(rank)) continue;
    const int pid = roster_.pid(rank);
    warn(cat("rank ", rank, " (pid ", pid,
             "): the train function, which runs in the script's process, has not ended",
             abandons ? ": the run ends without it" : " yet"));
    if (abandons) end_rank(rank, {.pid = pid, .is_child = false, .status = {}, .broken = {}});
  }
}

void Attempt::ask_profiles(const ProfilePlan& plan, ProfileRequest::Done done) {
  for (const int rank : plan.ranks) {
    const int pid = roster_.pid(rank);
    if (facts(rank).state != 'T') continue;
    throw Error(Code::kUsage, cat("rank ", rank, " (pid ", pid,
                                  ") is stopped (SIGSTOP): kill -CONT ", pid, " lets it go on"));
  }
  profiles_.start(plan, std::move(done));
}

std::string Attempt::close() {
  for (const auto& member : nodes_.members()) member.node->close();
  close_services();
  return reports_.uneven();
}

void Attempt::close_healed(int64_t next_index) {
  drain();
  reports_.close_below(next_index);
  watchdog_.stop();
  close_services();
}

void Attempt::close_services() {
  kill_notice_.stop();
  spares_.stop();
  not_finite_.tell();
  roster_.write();
  collectives_.reset();
  graceful_shutdown_.close();
}

decide::CheckpointProgress Attempt::progress() const {
  decide::CheckpointProgress out;
  out.complete = reports_.complete_below();
  out.behind = reports_.slowest();
  return out;
}

// The channels may hold messages that explain the death: Returned, Failed, or an error of another
// rank that came first.
void Attempt::on_dying(int place) {
  const auto rank = nodes_.rank_at(place);
  if (!rank) return;
  const double now_s = monotonic_s();
  drain();
  delegate_.feed(decide::event::Dying{*rank, now_s});
}

void Attempt::tell_death(int rank, decide::DeathEffect effect, const std::string& because) {
  warn(death_notice({.rank = rank,
                     .pid = roster_.pid(rank),
                     .num_workers = num_workers_,
                     .effect = effect,
                     .because = because}));
}

void Attempt::tell_lost(int rank) {
  has_lost_ = true;
  spares_.stop();
  for (auto& member : nodes_.members()) {
    member.spare.on_lost();
    member.node->set_others_lost();
  }
  message::PeerLost lost{.text = cat("rank ", rank, " is lost")};
  const std::string frame = encode(to_value(std::move(lost)));
  for (int each = 0; each < num_workers_; ++each) {
    if (each != rank) send_frame(each, frame);
  }
}

void Attempt::ask_to_grow(const std::string& folder) { send_all(message::Grow{.folder = folder}); }

void Attempt::ask_to_share() {
  run_.events.notice("info", cat("the virtual workers of the ranks change at the next commit: ",
                                 shares_.change()));
  send_all(message::Grow{.folder = "", .is_in_place = true});
}

void Attempt::cancel_growth() {
  shares_.cancel();
  ask_to_grow("");
}

void Attempt::on_output(int place, node::OutputStream stream, std::string_view bytes) {
  const auto rank = nodes_.rank_at(place);
  if (!rank) return;
  output_.add(*rank, stream, bytes);
  delegate_.on_output_logged();
}

void Attempt::hold_output(bool held) {
  for (const auto& member : nodes_.members()) member.node->hold_output(held);
}

void Attempt::drain() {
  for (const auto& member : nodes_.members()) member.node->drain();
}

void Attempt::on_gone(int place, const node::WorkerEnd& end) {
  if (const auto rank = nodes_.rank_at(place)) end_rank(*rank, end);
}

void Attempt::end_rank(int rank, const node::WorkerEnd& end) {
  if (roster_.is_gone(rank)) return;  // its function was abandoned
  roster_.set_gone(rank, end);
  graceful_shutdown_.on_left(rank);
  profiles_.on_gone(rank);
  watchdog_.set_gone(rank);
  output_.finish(rank);
  const Error error = faults_.explain(rank, worker_death(rank, end, output_.last_words(rank)));
  const double now_s = monotonic_s();
  drain();
  const bool can_move = copies_.has(nodes_.place(rank));
  delegate_.feed(decide::event::Gone{rank, error, now_s, end.lost.empty(), can_move});
}

std::string Attempt::diagnosis_folder() const {
  return cat(run_.run_path, "/diag/", DiagFolder::name(now_ms(), number_));
}

void Attempt::save_diagnosis(const std::string& folder,
                             std::vector<std::pair<std::string, std::string>> files) {
  run_.io.call(
      [folder, files = std::move(files)](RunRecord&) {
        DiagFolder::write(folder, files);
        return true;
      },
      [&events = run_.events](const auto&, const std::optional<Error>& error) {
        if (error) events.notice("warning", cat("the stacks are not saved: ", error->message()));
      });
}

}  // namespace rtrain::train
