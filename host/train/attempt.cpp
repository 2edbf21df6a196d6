#include "host/train/attempt.h"

#include <utility>

#include "host/base/clock.h"
#include "host/base/fault.h"
#include "host/base/text.h"
#include "host/loop/build_id.h"
#include "host/machine/oom_kills.h"
#include "host/machine/process_facts.h"
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
                 int num_workers, RunRecord::AttemptStart start)
    : context_(context),
      run_(context.run),
      delegate_(delegate),
      number_(number),
      num_workers_(num_workers),
      start_(std::move(start)),
      threads_(threads_per_worker(run_.spec, num_workers)),
      oom_kills_before_(oom_kills().value_or(0)),
      watchdog_(run_.loop, num_workers, run_.spec.hang_limits, *this),
      profiles_(run_.loop, [this](int rank, auto message) { send(rank, std::move(message)); }),
      reports_(run_.loop,
               {.world_size = num_workers,
                .first_index = start_.first_index,
                .timeout_s = run_.spec.timeout_s,
                .notice_s = run_.spec.report_notice_s},
               *this),
      annotations_(context.writer,
                   [this](int rank, auto message) { send(rank, std::move(message)); }),
      collectives_(std::in_place, run_.loop, num_workers, run_.spec.collectives, *this),
      graceful_shutdown_(run_.loop, num_workers, *this),
      roster_(run_.io, number),
      output_(context.writer, run_.events, number, num_workers),
      gpus_(run_.loop, number, *this),
      kill_notice_(run_.loop, [this] { name_survivors(); }),
      group_(run_.loop, group_options(), *this) {}

void Attempt::on_report(const Report& report) {
  context_.writer.add({number_, report.index, report.rank, report.time_ms, report.metrics});
}

void Attempt::on_reports_complete(std::vector<Report> reports) {
  delegate_.on_reports_complete(std::move(reports));
}

size_t Attempt::unwritten_bytes() const {
  return context_.writer.unwritten_bytes() + run_.events.waiting_bytes();
}

void Attempt::on_hang(int rank, const Error& error) {
  delegate_.feed(event::Failed{rank, error, monotonic_s()});
}

WorkerGroupOptions Attempt::group_options() const {
  WorkerGroupOptions options;
  options.num_workers = num_workers_;
  options.local = run_.spec.local;
  options.functions_fd = run_.functions_fd;
  options.progress_fd = watchdog_.progress_fd();
  options.engine_fd = run_.engine_fd;
  options.env = run_.spec.worker_env;
  std::erase_if(options.env, [](const auto& each) { return each.first == "OMP_NUM_THREADS"; });
  options.env.emplace_back("OMP_NUM_THREADS", std::to_string(threads_));
  if (const auto visible = context_.resources.visible_devices()) {
    options.env.emplace_back(kVisibleDevices, *visible);
  }
  return options;
}

void Attempt::spawn() {
  for (int rank = 0; rank < num_workers_; ++rank) {
    if (!spawn_next(rank)) break;
  }
  if (run_.spec.local) offer_endpoints();
  roster_.write();
  watch_gpus();
}

void Attempt::watch_gpus() {
  std::vector<RankGpu> gpus;
  for (int rank = 0; rank < group_.size(); ++rank) {
    const WorkerPlace place = context_.resources.place(rank, num_workers_);
    for (size_t i = 0; i < place.gpus.size(); ++i) {
      gpus.push_back(
          {rank, static_cast<int>(i), place.gpus[i], place.gpu_uuids[i], place.gpu_names[i]});
      run_.events.record("info", cat("rank ", rank, ": cuda:", place.gpus[i], " is ",
                                     place.gpu_names[i], " (", place.gpu_uuids[i], ")"));
    }
  }
  gpus_.start(std::move(gpus), run_.spec.gpu_sample_s);
}

bool Attempt::spawn_next(int rank) {
  const WorkerPlace place = context_.resources.place(rank, num_workers_);
  try {
    group_.spawn_next(place);
  } catch (const Error& e) {
    const auto* refused = dynamic_cast<const SpawnError*>(&e);
    delegate_.feed(event::SpawnFailed{e, rank, refused != nullptr && refused->is_transient()});
    return false;
  }
  roster_.add(group_.pid(rank), place.gpus);
  watchdog_.set_pid(rank, group_.pid(rank));
  run_.events.emit("phase", {{"rank", rank}, {"phase", phase_name(Phase::kSpawn)}});
  return true;
}

void Attempt::offer_endpoints() {
  for (int rank = 1; rank < group_.size(); ++rank) {
    context_.join_server->offer(rank, group_.take_endpoint(rank));
  }
  run_.events.emit("local_worker", {{"fd", group_.take_endpoint(0)}});
}

void Attempt::send_start(int rank) {
  fault_point("group.start");
  WorkerContext context = run_.worker_context(number_);
  context.world_size = context.local_world_size = num_workers_;
  context.world_rank = context.local_rank = rank;
  context.nonce = start_.nonce;
  context.log_bytes = run_.spec.log_bytes;
  context.collective_timeout_s = run_.spec.collectives.timeout_s;
  context.threads = threads_;
  context.gpus = context_.resources.place(rank, num_workers_).gpus;
  context.first_index = start_.first_index;
  if (start_.checkpoint) context.starting_checkpoint = start_.checkpoint->to_value();
  send(rank, std::move(context));
}

void Attempt::send(int rank, message::ToWorker message) {
  if (rank < group_.size()) group_.send(rank, std::move(message));
}

void Attempt::kill() {
  watchdog_.stop();
  if (context_.join_server != nullptr) context_.join_server->withdraw();
  group_.kill();
  kill_notice_.start(run_.spec.local ? kEndpointPatience : kKillNotice);
}

// SIGKILL is no more than a request for a process that waits in the kernel.
void Attempt::name_survivors() {
  if (run_.spec.local) return abandon_endpoints();
  for (int rank = 0; rank < roster_.size(); ++rank) {
    if (roster_.is_gone(rank)) continue;
    warn(cat("rank ", rank, " (pid ", group_.pid(rank), ") has not ended ", kKillNotice.count(),
             " s after SIGKILL: it waits in the kernel, for a disk, a network file system or a "
             "device"));
  }
}

// A train function in the script's own process cannot be killed alone: a run that is being stopped
// ends without it, and takes the process with it.
void Attempt::abandon_endpoints() {
  const bool abandons = delegate_.abandons_function();
  if (!abandons) kill_notice_.start(kEndpointNotice);
  for (int rank = 0; rank < roster_.size(); ++rank) {
    if (roster_.is_gone(rank)) continue;
    const int pid = group_.pid(rank);
    warn(cat("rank ", rank, " (pid ", pid,
             "): the train function, which runs in the script's process, has not ended",
             abandons ? ": the run ends without it" : " yet"));
    if (abandons) on_gone(rank, {.pid = pid, .is_child = false, .status = {}, .broken = {}});
  }
}

void Attempt::ask_profiles(const ProfilePlan& plan, ProfileRequest::Done done) {
  for (const int rank : plan.ranks) {
    const int pid = group_.pid(rank);
    if (process_facts(pid).state != 'T') continue;
    throw Error(Code::kUsage, cat("rank ", rank, " (pid ", pid,
                                  ") is stopped (SIGSTOP): kill -CONT ", pid, " lets it go on"));
  }
  profiles_.start(plan, std::move(done));
}

std::string Attempt::close() {
  kill_notice_.stop();
  gpus_.stop();
  collectives_.reset();
  graceful_shutdown_.close();
  return reports_.uneven();
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
    on<message::Report>([](Attempt& a, int rank, auto m) {
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
    on<message::Annotation>(
        [](Attempt& a, int rank, auto m) { a.annotations_.add(a.number_, rank, std::move(m)); }),
    on<message::Checkpoints>(
        [](Attempt& a, int rank, const auto& m) { a.context_.checkpoints.ask(rank, m); }),
    on<message::Damaged>([](Attempt& a, int, const auto& m) { a.on_damaged(m); }),
    on<message::Sync>(
        [](Attempt& a, int rank, auto m) { a.collectives_->on_sync(rank, std::move(m)); }),
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
    on<message::Returned>([](Attempt& a, int rank, auto m) { a.on_returned(rank, std::move(m)); }),
    on<message::Failed>([](Attempt& a, int rank, const auto& m) { a.on_failed(rank, m); }),
};

void Attempt::on_message(int rank, Value message) {
  if (roster_.is_gone(rank)) return;  // abandoned
  kRoutes.deliver(*this, rank, std::move(message));
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
  if (run_.spec.join) {
    const auto pid = static_cast<int>(hello.pid);
    group_.set_pid(rank, pid);
    roster_.set_pid(rank, pid);
  }
  run_.events.emit("phase", {{"rank", rank}, {"phase", phase_name(Phase::kHello)}});
  watchdog_.set_attached(rank);
  delegate_.feed(event::PhaseReached{rank, Phase::kHello});
}

// In the channels may lie that it has returned, why it ends, or another rank's error before that.
void Attempt::on_dying(int rank) {
  const double now_s = monotonic_s();
  group_.drain();
  delegate_.feed(event::Dying{rank, now_s});
}

void Attempt::tell_death(int rank) { warn(death_notice(rank, group_.pid(rank), group_.size())); }

void Attempt::on_phase(int rank, const message::Phase& reached) {
  const auto phase = phase_from_name(reached.name);
  if (!phase) throw Error(Code::kArgument, cat("unknown phase '", reached.name, "'"));
  run_.events.emit("phase", {{"rank", rank}, {"phase", reached.name}});
  // A local worker shows nothing, and could not be ended.
  if (*phase == Phase::kRunning && !run_.spec.local) watchdog_.set_started(rank);
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

void Attempt::on_damaged(const message::Damaged& damaged) {
  run_.io.write([damaged](RunRecord& record) {
    record.checkpoints().set_damaged(damaged.path, damaged.problem);
  });
}

void Attempt::on_returned(int rank, message::Returned returned) {
  reports_.on_returned(rank);
  collectives_->on_returned(rank);
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
  const auto fail = [this, rank, error, at_s = failed.time_s] {
    delegate_.feed(event::Failed{rank, gpus_.explain(rank, error), at_s});
  };
  if (!failed.stays) return fail();
  watchdog_.save_stacks(error.message(), fail);
}

void Attempt::on_output(int rank, std::string_view bytes) {
  output_.add(rank, bytes);
  delegate_.on_output_logged();
}

void Attempt::hold_output(bool held) {
  if (held == holds_output_) return;
  holds_output_ = held;
  group_.hold_output(held);
}

void Attempt::on_gone(int rank, const WorkerEnd& end) {
  if (roster_.is_gone(rank)) return;  // abandoned
  roster_.set_gone(rank, end);
  graceful_shutdown_.on_left(rank);
  profiles_.on_gone(rank);
  watchdog_.set_gone(rank);
  const int64_t new_oom_kills = oom_kills().value_or(oom_kills_before_) - oom_kills_before_;
  const Error error = gpus_.explain(rank, worker_death(rank, end,
                                                       {.crash = watchdog_.page(rank).crash,
                                                        .oom_kills = new_oom_kills,
                                                        .last_words = output_.last_words(rank)}));
  const double now_s = monotonic_s();
  group_.drain();
  delegate_.feed(event::Gone{rank, error, now_s});
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
