#include "host/train/attempt.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/fault.h"
#include "host/base/text/text.h"
#include "host/decide/absent_ranks.h"
#include "host/loop/build_id.h"
#include "host/machine/xid.h"
#include "host/train/watch/diag_folder.h"
#include "host/train/watch/worker_death.h"

namespace rtrain {
namespace {

constexpr std::chrono::seconds kKillNotice{5};
// A train function of the script's process has that long to raise what ends it.
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
      kill_notice_(run_.loop, [this] { name_survivors(); }),
      nodes_(std::move(nodes)) {}

Attempt::Attempt(const AttemptContext& context, AttemptDelegate& delegate, int number,
                 int num_workers, RunRecord::AttemptStart start)
    : Attempt(context, delegate, number, num_workers, std::move(start), NodeGroup()) {
  nodes_ = context.resources.nodes(node_order(), *this);
}

Attempt::Attempt(const AttemptContext& context, AttemptDelegate& delegate, int number,
                 RunRecord::AttemptStart start, Attempt& before, const std::vector<int>& kept)
    : Attempt(context, delegate, number, static_cast<int>(kept.size()), std::move(start),
              std::move(before.nodes_)) {
  is_heal_ = true;
  nodes_.keep(kept);
  nodes_.hand_over(*this);
  for (int rank = 0; rank < num_workers_; ++rank) {
    const int old_rank = kept[static_cast<size_t>(rank)];
    if (!before.roster_.is_gone(old_rank)) take_over(rank, before, old_rank);
  }
}

void Attempt::take_over(int rank, const Attempt& before, int old_rank) {
  const auto& worker = workers_.at(static_cast<size_t>(rank)) =
      before.workers_.at(static_cast<size_t>(old_rank));
  roster_.add(rank, nodes_.of(rank).host, worker);
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
  delegate_.feed(event::Failed{rank, error, monotonic_s()});
}

void Attempt::on_straggler(const Straggler& found) {
  warn(cat("rank ", found.rank, " on host ", nodes_.of(found.rank).host,
           " holds the others up: it came last to ", found.last, " of ", found.of,
           " collectives, on average ", std::llround(found.behind_s * 1000),
           " ms behind half of the ranks"));
}

NodeOrder Attempt::node_order() const {
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

bool Attempt::can_replace() const {
  const auto replaces = [](const NodeGroup::Member& member) { return member.node->replaces(); };
  return std::ranges::all_of(nodes_.members(), replaces);
}

void Attempt::heal(const std::vector<int>& lost) {
  for (const int rank : lost) node(rank).replace(nodes_.place(rank));
  for (int rank = 0; rank < num_workers_; ++rank) {
    if (std::ranges::find(lost, rank) == lost.end()) send(rank, context_of(rank));
  }
}

void Attempt::on_spawned(int place, const SpawnedWorker& worker) {
  const auto found = nodes_.rank_at(place);
  if (!found) return;
  const int rank = *found;
  workers_.at(static_cast<size_t>(rank)) = worker;
  roster_.add(rank, nodes_.of(rank).host, worker);
  watchdog_.set_pid(rank, worker.pid);
  run_.events.emit("phase", {{"rank", rank}, {"phase", phase_name(Phase::kSpawn)}});
  for (const WorkerGpu& gpu : worker.gpus) {
    run_.events.record(
        "info", cat("rank ", rank, ": cuda:", gpu.number, " is ", gpu.name, " (", gpu.uuid, ")"));
  }
}

void Attempt::on_spawn_failed(int place, const Error& error, bool is_transient) {
  const auto rank = nodes_.rank_at(place);
  if (!rank) return;
  const NodeGroup::Member& member = nodes_.of(*rank);
  const int end = is_heal_ ? *rank + 1 : member.first_rank + member.num_workers;
  delegate_.feed(event::SpawnFailed{error, *rank, end, is_transient});
}

// A node may have been another attempt's.
void Attempt::on_series(SeriesChunk chunk) {
  const auto rank = nodes_.rank_at(static_cast<int>(chunk.rank));
  if (!rank) return;
  chunk.attempt = number_;
  chunk.rank = *rank;
  context_.writer.add(std::move(chunk));
}

void Attempt::on_device_fault(const DeviceFault& seen) {
  const auto rank = nodes_.rank_at(seen.rank);
  if (!rank) return;
  DeviceFault fault = seen;
  fault.rank = *rank;
  faults_.add(fault);
  warn(to_text(fault));
  tell_evidence(fault.rank, "xid", to_text(fault), is_hardware_xid(fault.xid));
}

void Attempt::tell_evidence(int rank, const std::string& kind, const std::string& text,
                            bool is_conclusive) {
  const NodeGroup::Member& member = nodes_.of(rank);
  delegate_.on_evidence({.node = member.number,
                         .host = member.host,
                         .kind = kind,
                         .text = text,
                         .is_conclusive = is_conclusive,
                         .rank = rank});
}

std::optional<int> Attempt::rank_on(int number) const {
  for (const auto& member : nodes_.members()) {
    if (member.number == number) return member.first_rank;
  }
  return std::nullopt;
}

std::vector<WorkerGpu> Attempt::gpus() const {
  std::vector<WorkerGpu> out;
  for (const SpawnedWorker& worker : workers_) {
    out.insert(out.end(), worker.gpus.begin(), worker.gpus.end());
  }
  return out;
}

void Attempt::send_start(int rank) {
  fault_point("group.start");
  WorkerContext context = context_of(rank);
  context.is_replacement = is_heal_;
  send(rank, std::move(context));
}

WorkerContext Attempt::context_of(int rank) const {
  WorkerContext context = run_.worker_context(number_);
  const NodeGroup::Member& member = nodes_.of(rank);
  context.world_size = num_workers_;
  context.world_rank = rank;
  context.local_world_size = member.num_workers;
  context.local_rank = rank - member.first_rank;
  context.node_rank = member.node_rank;
  context.address = member.address;
  context.nonce = start_.nonce;
  context.log_bytes = run_.spec.log_bytes;
  context.collective_timeout_s = run_.spec.collectives.timeout_s;
  const SpawnedWorker& worker = workers_.at(static_cast<size_t>(rank));
  context.threads = worker.threads;
  for (const WorkerGpu& gpu : worker.gpus) context.gpus.push_back(gpu.number);
  context.first_index = start_.first_index;
  context.carried = start_.carried;
  context.can_grow = num_workers_ < run_.spec.max_workers;
  if (start_.checkpoint) context.starting_checkpoint = start_.checkpoint->to_value();
  return context;
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
  for (const auto& member : nodes_.members()) member.node->kill();
  kill_notice_.start(run_.spec.is_local ? kEndpointPatience : kKillNotice);
}

// SIGKILL is no more than a request for a process that waits in the kernel.
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
      warn(cat(text, "host ", member.host, " was to kill it: the host is gone or cut off, ",
               "which is known after ", run_.spec.failure_config.node_timeout_s,
               " s (FailureConfig.node_timeout_s), or the process ", waits));
    }
  }
}

// A train function in the script's own process cannot be killed alone: a run that is being stopped
// ends without it, and takes the process with it.
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
  not_finite_.tell();
  roster_.write();
  collectives_.reset();
  graceful_shutdown_.close();
}

CheckpointProgress Attempt::progress() const {
  CheckpointProgress out;
  out.complete = reports_.complete_below();
  out.behind = reports_.slowest();
  return out;
}

const Routes<message::ToController, Attempt, int> Attempt::kRoutes{
    on<message::Hello>([](Attempt& a, int rank, const auto& m) { a.on_hello(rank, m); }),
    on<message::Phase>([](Attempt& a, int rank, const auto& m) { a.on_phase(rank, m); }),
    on<message::Gpus>(
        [](Attempt& a, int rank, const auto& m) { a.roster_.set_gpus(rank, m.gpus); }),
    on<message::Signal>(
        [](Attempt& a, int, const auto& m) { a.context_.signals.on_forwarded(m.number); }),
    on<Report>([](Attempt& a, int rank, auto m) {
      a.reports_.on_report(rank, std::move(m));
      a.context_.checkpoints.progressed();
    }),
    on<message::Files>(
        [](Attempt& a, int rank, auto m) { a.reports_.on_files(rank, std::move(m)); }),
    on<message::Uploaded>([](Attempt& a, int rank, auto m) {
      a.reports_.on_uploaded(rank, std::move(m));
      a.context_.checkpoints.progressed();
    }),
    on<message::Series>([](Attempt& a, int rank, auto m) { a.on_series(rank, std::move(m)); }),
    on<message::SeriesDropped>(
        [](Attempt& a, int rank, const auto& m) { a.on_series_dropped(rank, m); }),
    on<message::Logged>([](Attempt& a, int rank, const auto& m) { a.on_logged(rank, m); }),
    on<message::LoopProgress>(
        [](Attempt& a, int rank, const auto& m) { a.on_loop_progress(rank, m); }),
    on<message::Annotation>(
        [](Attempt& a, int rank, auto m) { a.extras_.add(a.number_, rank, std::move(m)); }),
    on<message::Media>(
        [](Attempt& a, int rank, auto m) { a.extras_.add(a.number_, rank, std::move(m)); }),
    on<message::NotFinite>(
        [](Attempt& a, int rank, auto m) { a.not_finite_.add(rank, std::move(m)); }),
    on<message::Health>([](Attempt& a, int rank, const auto& m) {
      a.tell_evidence(rank, "script", m.text, m.is_conclusive);
    }),
    on<message::Checkpoints>(
        [](Attempt& a, int rank, const auto& m) { a.context_.checkpoints.ask(rank, m); }),
    on<message::Damaged>([](Attempt& a, int, const auto& m) { a.on_damaged(m); }),
    on<message::Sync>([](Attempt& a, int rank, auto m) { a.on_sync(rank, std::move(m)); }),
    on<message::AskScript>(
        [](Attempt& a, int rank, auto m) { a.on_ask_script(rank, std::move(m)); }),
    on<message::StoreSet>(
        [](Attempt& a, int rank, auto m) { a.answer(a.store_.call(rank, std::move(m))); }),
    on<message::StoreGet>(
        [](Attempt& a, int rank, auto m) { a.answer(a.store_.call(rank, std::move(m))); }),
    on<message::StoreWait>(
        [](Attempt& a, int rank, auto m) { a.answer(a.store_.call(rank, std::move(m))); }),
    on<message::StoreAdd>(
        [](Attempt& a, int rank, const auto& m) { a.answer(a.store_.call(rank, m)); }),
    on<message::StoreCheck>(
        [](Attempt& a, int rank, const auto& m) { a.answer(a.store_.call(rank, m)); }),
    on<message::StoreDelete>(
        [](Attempt& a, int rank, const auto& m) { a.answer(a.store_.call(rank, m)); }),
    on<message::StoreNumKeys>(
        [](Attempt& a, int rank, const auto& m) { a.answer(a.store_.call(rank, m)); }),
    on<message::StoreCompareSet>(
        [](Attempt& a, int rank, const auto& m) { a.answer(a.store_.call(rank, m)); }),
    on<message::Cancel>([](Attempt& a, int rank, const auto& m) { a.store_.cancel(rank, m.id); }),
    on<message::Stack>(
        [](Attempt& a, int rank, auto m) { a.watchdog_.on_stack(rank, std::move(m)); }),
    on<message::Profile>(
        [](Attempt& a, int rank, const auto& m) { a.profiles_.on_answer(rank, m); }),
    on<message::StopCalls>(
        [](Attempt& a, int rank, const auto& m) { a.graceful_shutdown_.on_calls(rank, m); }),
    on<message::StopSeen>([](Attempt& a, int, const auto& m) {
      a.graceful_shutdown_.on_seen(m);
      a.delegate_.feed(event::StopSeen{});
    }),
    on<message::StartIngest>([](Attempt& a, int rank, const auto& m) {
      a.send(rank, message::Reply{.id = m.id, .value = a.context_.resources.start_ingest(m)});
    }),
    on<message::Healable>([](Attempt& a, int rank, const auto& m) {
      a.delegate_.feed(event::Healable{rank, m.is && a.can_replace(), m.fixed});
    }),
    on<message::HostReady>(
        [](Attempt& a, int rank, const auto& m) { a.on_host_ready(rank, m.step); }),
    on<message::Unwound>([](Attempt& a, int rank, const auto& m) { a.on_unwound(rank, m); }),
    on<message::Returned>([](Attempt& a, int rank, auto m) { a.on_returned(rank, std::move(m)); }),
    on<message::Failed>([](Attempt& a, int rank, const auto& m) { a.on_failed(rank, m); }),
};

void Attempt::on_frame(int place, std::string frame) {
  const auto rank = nodes_.rank_at(place);
  if (!rank || roster_.is_gone(*rank)) return;  // abandoned
  kRoutes.deliver(*this, *rank, decode(frame));
}

void Attempt::answer(std::vector<KeyValueStore::Answer> answers) {
  for (auto& each : answers) {
    send(each.rank, message::Reply{.id = each.id, .value = std::move(each.value)});
  }
}

void Attempt::on_hello(int rank, const message::Hello& hello) {
  if (hello.version != kProtocolVersion || hello.build_id != build_id()) {
    throw Error(Code::kEnvironment, "the worker is another build of rtrain than the controller");
  }
  const auto pid = static_cast<int>(hello.pid);
  if (run_.spec.join) roster_.set_pid(rank, pid);
  run_.events.emit("phase", {{"rank", rank}, {"phase", phase_name(Phase::kHello)}});
  node(rank).set_attached(nodes_.place(rank), pid);
  delegate_.feed(event::PhaseReached{rank, Phase::kHello});
}

// In the channels may lie that it has returned, why it ends, or another rank's error before that.
void Attempt::on_dying(int place) {
  const auto rank = nodes_.rank_at(place);
  if (!rank) return;
  const double now_s = monotonic_s();
  drain();
  delegate_.feed(event::Dying{*rank, now_s});
}

void Attempt::tell_death(int rank, DeathEffect effect, const std::string& because) {
  warn(death_notice({.rank = rank,
                     .pid = roster_.pid(rank),
                     .num_workers = num_workers_,
                     .effect = effect,
                     .because = because}));
}

// All nodes hear the messages of one: all ranks that are left come to that step. Once a rank is
// lost there is no further one.
void Attempt::on_host_ready(int rank, int64_t step) {
  const auto& members = nodes_.members();
  const auto all = commits_.on_host_ready(nodes_.of(rank).node_rank, step, members.size());
  if (!all || has_lost_) return;
  for (const auto& member : members) member.node->set_others_ready(static_cast<uint64_t>(*all));
}

void Attempt::tell_lost(int rank) {
  has_lost_ = true;
  for (const auto& member : nodes_.members()) member.node->set_others_lost();
  message::PeerLost lost{.text = cat("rank ", rank, " is lost")};
  const std::string frame = encode(to_value(std::move(lost)));
  for (int each = 0; each < num_workers_; ++each) {
    if (each != rank) send_frame(each, frame);
  }
}

void Attempt::ask_to_grow(const std::string& folder) { send_all(message::Grow{.folder = folder}); }

void Attempt::on_unwound(int rank, const message::Unwound& unwound) {
  delegate_.feed(event::Unwound{rank,
                                {.step = unwound.step,
                                 .index = unwound.index,
                                 .error = unwound.error,
                                 .time_s = unwound.time_s + node(rank).clock_offset_s()}});
}

void Attempt::on_phase(int rank, const message::Phase& reached) {
  const auto phase = phase_from_name(reached.name);
  if (!phase) throw Error(Code::kArgument, cat("unknown phase '", reached.name, "'"));
  run_.events.emit("phase", {{"rank", rank}, {"phase", reached.name}});
  // A local worker shows nothing, and could not be ended.
  if (*phase == Phase::kRunning && !run_.spec.is_local) watchdog_.set_started(rank);
  delegate_.feed(event::PhaseReached{rank, *phase});
}

void Attempt::on_series(int rank, message::Series series) {
  check_key(series);
  context_.writer.add(SeriesChunk{std::move(series), number_, rank});
}

void Attempt::on_series_dropped(int rank, const message::SeriesDropped& dropped) {
  warn(cat("rank ", rank, ": train.log dropped ", dropped.count,
           " points, which came faster than they could be stored"));
}

void Attempt::on_logged(int rank, const message::Logged& logged) {
  run_.events.emit("logged", {{"rank", rank},
                              {"names", List(logged.names.begin(), logged.names.end())},
                              {"values", List(logged.values.begin(), logged.values.end())}});
}

void Attempt::on_loop_progress(int rank, const message::LoopProgress& progress) {
  const auto known = [](auto value) { return value > 0 ? Value(value) : Value(); };
  run_.events.emit("loop", {{"rank", rank},
                            {"batch", progress.batch},
                            {"batches", known(progress.batches)},
                            {"batch_size", known(progress.batch_size)},
                            {"samples", known(progress.samples)},
                            {"dataset_size", known(progress.dataset_size)},
                            {"rate", known(progress.rate)}});
}

void Attempt::on_damaged(const message::Damaged& damaged) {
  run_.io.write([damaged](RunRecord& record) {
    record.checkpoints().set_damaged(damaged.path, damaged.problem);
  });
}

// Ranks outlive an attempt that a heal ends.
void Attempt::on_sync(int rank, message::Sync sync) {
  if (collectives_) collectives_->on_sync(rank, std::move(sync));
}

void Attempt::on_ask_script(int rank, message::AskScript ask) {
  const ScriptQuestion question{.name = ask.name,
                                .argument = Map{{"attempt", number_},
                                                {"rank", rank},
                                                {"world_size", num_workers_},
                                                {"value", std::move(ask.argument)}},
                                .timeout = to_ms(ask.timeout_s),
                                .setting = ask.setting};
  run_.calls.ask(run_.loop, question,
                 [this, rank, id = ask.id, alive = std::weak_ptr<char>(alive_)](
                     std::optional<Value> value, std::optional<Error> error) {
                   if (alive.expired() || roster_.is_gone(rank)) return;
                   message::Reply reply{.id = id, .value = Value(), .error = std::move(error)};
                   if (value) reply.value = std::move(*value);
                   send(rank, std::move(reply));
                 });
}

void Attempt::on_returned(int rank, message::Returned returned) {
  reports_.on_returned(rank);
  if (collectives_) collectives_->on_returned(rank);
  graceful_shutdown_.on_left(rank);
  if (rank == 0) return_value_ = std::move(returned.value);
  watchdog_.set_returned(rank);
  delegate_.feed(event::Returned{rank});
  context_.checkpoints.progressed();
}

// Messages cut a long error short: all of it is in the rank's log. A rank that stays is stuck, as
// others may be: what all of them do is saved before they are ended.
void Attempt::on_failed(int rank, const message::Failed& failed) {
  const Error& error = failed.error;
  graceful_shutdown_.on_left(rank);
  output_.add(rank, error);
  const auto fail = [this, rank, error, at_s = failed.time_s + node(rank).clock_offset_s()] {
    delegate_.feed(event::Failed{rank, explain(rank, error), at_s});
  };
  if (!failed.stays) return fail();
  watchdog_.save_stacks(error.message(), fail);
}

Error Attempt::explain(int rank, const Error& error) const {
  std::vector<PlacedFacts> ranks;
  for (int each = 0; each < num_workers_; ++each) {
    ranks.push_back({nodes_.of(each).host, watchdog_.facts(each)});
  }
  return faults_.explain(rank, with_absent_ranks(rank, error, ranks));
}

void Attempt::on_output(int place, OutputStream stream, std::string_view bytes) {
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

void Attempt::on_gone(int place, const WorkerEnd& end) {
  if (const auto rank = nodes_.rank_at(place)) end_rank(*rank, end);
}

void Attempt::end_rank(int rank, const WorkerEnd& end) {
  if (roster_.is_gone(rank)) return;  // abandoned
  roster_.set_gone(rank, end);
  graceful_shutdown_.on_left(rank);
  profiles_.on_gone(rank);
  watchdog_.set_gone(rank);
  output_.finish(rank);
  const Error error = faults_.explain(rank, worker_death(rank, end, output_.last_words(rank)));
  const double now_s = monotonic_s();
  drain();
  delegate_.feed(event::Gone{rank, error, now_s, end.lost.empty()});
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

}  // namespace rtrain
