#include "host/train/controller.h"

#include <algorithm>
#include <future>
#include <type_traits>

#include "host/base/clock.h"
#include "host/base/fault.h"
#include "host/base/machine.h"
#include "host/base/oom_kills.h"
#include "host/base/text.h"
#include "host/loop/message.h"
#include "host/train/diag_folder.h"
#include "host/train/stack_answer.h"
#include "host/train/worker_death.h"

namespace rtrain {
namespace {

constexpr std::chrono::seconds kKillNotice{5};
// Who presses Ctrl-C waits for it.
constexpr double kInterruptGraceS = 10;
constexpr size_t kMaxUnwrittenOutput = size_t{8} << 20;

Value to_value(const Error& error) {
  return Map{{"code", code_name(error.code())},
             {"message", error.message()},
             {"traceback", error.traceback()}};
}

// The cause, and in `ranks` what each rank said.
Value to_value(const std::optional<GroupError>& error) {
  if (!error) return nullptr;
  Map out = to_value(error->cause).as_map();
  out.set("kind", error_kind_name(error->kind));
  if (error->rank >= 0) out.set("rank", error->rank);
  Map ranks;
  for (const auto& [rank, each] : error->ranks) ranks.set(int64_t{rank}, to_value(each));
  out.set("ranks", ranks);
  return out;
}

// What the processes of another launcher are told at the end; the rest they read from the store.
Value ended_message(const Map& finished) {
  constexpr size_t kMaxText = 16384;
  Map out{{"type", "ended"}, {"path", finished["path"]}};
  if (const Value& error = finished["error"]; !error.is_nil()) {
    out.set("error", Map{{"code", error["code"]},
                         {"message", error["message"].as_string().substr(0, kMaxText)},
                         {"traceback", error["traceback"].as_string().substr(0, kMaxText)}});
  }
  return out;
}

List values(const std::vector<CheckpointInfo>& checkpoints) {
  List out;
  for (const CheckpointInfo& checkpoint : checkpoints) out.push_back(checkpoint.to_value());
  return out;
}

// States that `rtrain ls` shows while they last; the others end within moments, in a row's last
// status.
bool is_recorded(RunState state) {
  return state != RunState::kShuttingDown && state < RunState::kErrored;
}

}  // namespace

Controller::Controller(const ControllerSeams& seams)
    : seams_(seams),
      io_calls_(seams.io, seams.loop, seams.record),
      machine_(scaling_policy(seams.spec),
               FailurePolicy(seams.spec.failure_limits, static_cast<uint64_t>(now_ms()),
                             FailureCounts::from_value(seams.record.failures())),
               seams.spec.start_timeout_s),
      cores_({seams.spec, seams.loop, seams.io},
             [this](const std::string& text) { emit_notice("info", text); }),
      batch_(seams.loop, seams.io, seams.record,
             {.on_error = [this](const Error& error) { feed(event::StorageFailed{error}); },
              .on_written =
                  [this] {
                    if (reports_) reports_->on_written();
                    hold_output();
                  },
              .on_waiting =
                  [this](const Error& error) {
                    emit_notice("warning", cat("reports wait in memory (RTRAIN_STORE_PATIENCE_S): ",
                                               error.message()));
                  }}),
      checkpoints_(checkpoint_seams()),
      deadline_(seams.loop, [this] { feed(event::DeadlinePassed{machine_.attempt}); }),
      verdict_(seams.loop, [this] { feed(event::VerdictDue{machine_.attempt}); }),
      resize_(seams.loop,
              [this] {
                cores_.look([this, attempt = machine_.attempt](int room) {
                  feed(event::ResourcesSeen{attempt, room});
                });
              }),
      retry_(seams.loop, [this] { feed(event::RetryDue{machine_.attempt}); }),
      kill_notice_(seams.loop, [this] { name_survivors(); }),
      signals_(seams.loop,
               {.on_first = [this](StopKind kind,
                                   int number) { request_stop(kind, StopSignals::name(number)); },
                .on_second = [this] { stop_now(StopKind::kInterrupt); }}) {}

// Tasks on the io thread use this object: the last of them has to be over.
Controller::~Controller() {
  std::promise<void> idle;
  seams_.io.post([&idle] { idle.set_value(); });
  idle.get_future().wait();
}

CheckpointCoordinator::Seams Controller::checkpoint_seams() {
  return {
      .spec = seams_.spec,
      .loop = seams_.loop,
      .io = io_calls_,
      .calls = seams_.calls,
      .functions_fd = seams_.functions_fd,
      .engine_fd = seams_.engine_fd,
      .run_id = seams_.record.run_id(),
      .run_path = seams_.record.run_path(),
      .emit = [this](std::string_view type, Map fields) { emit(type, std::move(fields)); },
      .log =
          [this](const CheckpointInfo& checkpoint, std::string_view bytes) {
            batch_.add_log(checkpoint.attempt, cat("validation-", checkpoint.name), bytes);
            hold_output();
          },
      .output =
          [this](Map fields) { seams_.events.add_output(event_map("output", std::move(fields))); },
      .notice = [this](std::string_view level,
                       const std::string& text) { emit_notice(level, text); },
      .send =
          [this](int rank, const Value& message) {
            if (group_ && rank < group_->size()) group_->send(rank, message);
          },
      .progress =
          [this] {
            CheckpointProgress out;
            if (!reports_) return out;
            out.complete = reports_->complete_below();
            if (!commits_.empty()) out.complete = std::min(out.complete, *commits_.begin());
            out.behind = reports_->slowest();
            return out;
          },
      .on_storage_error = [this](const Error& error) { feed(event::StorageFailed{error}); }};
}

void Controller::start() {
  machine_.attempt = static_cast<int>(seams_.record.last_attempt());
  if (const std::string& text = seams_.record.notice(); !text.empty()) {
    emit("notice", {{"level", "info"}, {"text", text}});
  }
  checkpoints_.begin_run();
  emit("state", {{"state", state_name(machine_.state)}});
  open_control_server();
  if (const auto& join = seams_.spec.join) {
    join_server_ = std::make_unique<JoinServer>(seams_.loop, *join, seams_.spec.max_workers);
  }
  feed(event::Started{});
}

// A run goes on without it.
void Controller::open_control_server() {
  try {
    control_server_ = std::make_unique<ControlServer>(seams_.loop, seams_.record.run_id());
  } catch (const Error& e) {
    return emit_notice("warning",
                       cat("commands such as `rtrain stop` cannot reach this run: ", e.message()));
  }
  control_server_->add("stop", [this](const Value& request, const ControlServer::Reply& reply) {
    reply(stop_for_operator(request));
  });
  control_server_->add("stack", [this](const Value& request, const ControlServer::Reply& reply) {
    show_stacks(request, reply);
  });
}

Value Controller::stop_for_operator(const Value& request) {
  const bool now = request["now"].bool_or(false);
  if (now) {
    stop_now(StopKind::kOperator);
  } else {
    request_stop(StopKind::kOperator, cat("`rtrain stop` (pid ", request["pid"].as_int(), ")"));
  }
  return Map{{"grace_s", now ? 0.0 : seams_.spec.preemption_grace_s}};
}

void Controller::show_stacks(const Value& request, const ControlServer::Reply& reply) {
  if (seams_.spec.local) {
    throw Error(Code::kUsage,
                "the train function runs in the script's own process "
                "(num_workers = 0): there are no workers to ask");
  }
  const auto answer = [this, reply](List ranks) {
    reply(Map{{"attempt", machine_.attempt},
              {"state", state_name(machine_.state)},
              {"ranks", std::move(ranks)}});
  };
  if (!watchdog_ || machine_.ranks.empty()) return answer({});
  const auto rank = asked_rank(request, machine_.ranks.size());
  watchdog_->ask_stacks([this, rank, answer](const List& stacks) {
    answer(stack_answer(rank, stacks, machine_.ranks));
  });
}

void Controller::request_stop(StopKind kind, const std::string& by) {
  if (checkpoints_.is_draining()) checkpoints_.cancel();
  const bool was_stopping = machine_.stop.has_value();
  stop_by_ = by.empty() ? std::string(stop_name(kind)) : by;
  feed(event::StopRequested{kind});
  const bool has_course = stop_course_ && stop_course_->is_started();
  if (machine_.stop && !was_stopping && !has_course) emit_stopping(kind, 0);
}

void Controller::stop_now(StopKind kind) {
  if (checkpoints_.is_draining()) checkpoints_.cancel();
  feed(event::StopNow{kind});
}

void Controller::events_taken() {
  if (reports_) reports_->on_written();
}

// Actions may bring about events; those wait until all actions of the step before are performed.
void Controller::feed(Event event) {
  waiting_.push_back(std::move(event));
  if (feeding_) return;
  feeding_ = true;
  while (!waiting_.empty()) {
    const RunState before = machine_.state;
    Step next = step(std::move(machine_), waiting_.front());
    waiting_.pop_front();
    machine_ = std::move(next.machine);
    if (machine_.state != before) {
      emit("state", {{"state", state_name(machine_.state)}, {"num_workers", machine_.num_workers}});
      if (is_recorded(machine_.state)) {
        on_io([status = std::string(state_name(machine_.state))](RunRecord& r) {
          r.set_status(status);
        });
      }
    }
    for (const Action& action : next.actions) {
      std::visit([this](const auto& a) { perform(a); }, action);
    }
  }
  feeding_ = false;
}

template <class Work>
void Controller::on_io(Work work) {
  on_io(
      [work = std::move(work)](RunRecord& record) {
        work(record);
        return true;
      },
      [this](const auto&, const std::optional<Error>& error) {
        if (error) feed(event::StorageFailed{*error});
      });
}

void Controller::perform(const action::RequestResources&) {
  cores_.request([this](int workers) { feed(event::ResourcesGranted{workers}); });
}

void Controller::perform(const action::SetResizeTimer& a) { resize_.start(to_ms(a.seconds)); }

void Controller::perform(const action::ReportResize& a) {
  emit_notice("info", cat("the group goes on with ", a.to, a.to == 1 ? " worker" : " workers",
                          " instead of ", a.from, " after its next checkpoint"));
}

void Controller::perform(const action::ReportDeath& a) {
  emit_notice("warning", death_notice(a.rank, group_->pid(a.rank), group_->size()));
}

void Controller::perform(const action::BeginAttempt& a) { begin_attempt(a); }

// Once more for each checkpoint that has to be fetched first.
void Controller::begin_attempt(const action::BeginAttempt& a) {
  on_io(
      [a, can_fetch = seams_.spec.can_fetch](RunRecord& record) {
        return record.begin_attempt(a.attempt, a.num_workers, can_fetch);
      },
      [this, a](std::optional<RunRecord::Attempt> attempt, const std::optional<Error>& error) {
        if (error) feed(event::StorageFailed{*error});
        if (attempt && attempt->wanted) {
          for (const std::string& text : attempt->notices) emit_notice("warning", text);
          return checkpoints_.fetch(*attempt->wanted, [this, a] { begin_attempt(a); });
        }
        if (attempt) {
          attempt_ = std::move(*attempt);
          metrics_ = attempt_.checkpoint ? attempt_.checkpoint->metrics : Value();
          emit("attempt_begun", {{"first_index", attempt_.first_index}});
          for (const std::string& text : attempt_.notices) emit_notice("warning", text);
        }
        feed(event::AttemptBegun{});
      });
}

void Controller::perform(const action::SpawnGroup& a) {
  const int size = a.num_workers;
  threads_ = threads_per_worker(seams_.spec, size);
  const std::string threads = std::to_string(threads_);
  store_ = {};
  collectives_ = std::make_unique<CollectiveService>(
      seams_.loop, size, seams_.spec.collectives,
      CollectiveService::Outlets{
          [this](int rank, const Value& message) { group_->send(rank, message); },
          [this](const std::string& text) { emit_notice("warning", text); }});
  make_intake(size);
  checkpoints_.begin_attempt();
  stop_course_ = std::make_unique<StopCourse>(
      seams_.loop, size,
      StopCourseSeams{
          .send_all = [this](const Value& message) { group_->send_all(message); },
          .on_complete = [this] { feed(event::StopComplete{machine_.attempt}); },
          .on_grace_passed = [this] { feed(event::GracePassed{machine_.attempt}); },
          .on_notice = [this](const std::string& text) { emit_notice("warning", text); }});
  workers_.clear();
  new_checkpoint_ = false;
  return_value_ = {};
  WorkerGroupOptions options;
  options.num_workers = size;
  options.local = seams_.spec.local;
  options.functions_fd = seams_.functions_fd;
  options.engine_fd = seams_.engine_fd;
  options.env = seams_.spec.worker_env;
  std::erase_if(options.env, [](const auto& each) { return each.first == "OMP_NUM_THREADS"; });
  options.env.emplace_back("OMP_NUM_THREADS", threads);
  make_watchdog(size);
  options.progress_fd = watchdog_->progress_fd();
  holds_output_ = false;
  group_ = std::make_unique<WorkerGroup>(seams_.loop, options, *this);
  const std::string host = hostname();
  for (int rank = 0; rank < size; ++rank) {
    try {
      group_->spawn_next(cores_.place(rank, size));
    } catch (const Error& e) {
      const auto* refused = dynamic_cast<const SpawnError*>(&e);
      feed(event::SpawnFailed{e, rank, refused != nullptr && refused->is_transient()});
      break;
    }
    workers_.push_back({.rank = rank,
                        .pid = group_->pid(rank),
                        .host = host,
                        .device = "cpu",
                        .exit_code = {},
                        .signal = {}});
    watchdog_->set_pid(rank, group_->pid(rank));
    emit("phase", {{"rank", rank}, {"phase", phase_name(Phase::kSpawn)}});
  }
  if (options.local) offer_seats();
  record_workers();
}

void Controller::make_watchdog(int size) {
  oom_kills_before_ = oom_kills().value_or(0);
  watchdog_ = std::make_unique<Watchdog>(
      seams_.loop, size, seams_.spec.hang_limits,
      Watchdog::Outlets{[this](int rank, const Value& message) { group_->send(rank, message); },
                        [this](const std::string& text) { emit_notice("warning", text); },
                        [this](auto files) {
                          const std::string folder =
                              cat(seams_.record.run_path(), "/diag/",
                                  DiagFolder::name(now_ms(), machine_.attempt));
                          on_io([folder, files = std::move(files)](RunRecord&) {
                            DiagFolder::write(folder, files);
                          });
                          return folder;
                        },
                        [this](int rank, const Error& error) {
                          feed(event::Failed{rank, error, monotonic_s()});
                        },
                        [this](int rank) { on_dying(rank); }});
}

void Controller::offer_seats() {
  for (int rank = 1; rank < group_->size(); ++rank) {
    join_server_->offer(rank, group_->take_seat(rank));
  }
  emit("local_worker", {{"fd", group_->take_seat(0)}});
}

void Controller::perform(const action::SendStart& a) {
  fault_point("group.start");
  WorkerContext context;
  context.world_size = context.local_world_size = machine_.num_workers;
  context.world_rank = context.local_rank = a.rank;
  context.experiment_name = seams_.spec.name;
  context.run_id = seams_.record.run_id();
  context.attempt = machine_.attempt;
  context.nonce = attempt_.nonce;
  context.storage_path = seams_.spec.storage_path;
  context.run_path = seams_.record.run_path();
  context.backend = seams_.spec.backend;
  context.timeout_s = seams_.spec.timeout_s;
  context.collective_timeout_s = seams_.spec.collectives.timeout_s;
  context.threads = threads_;
  context.first_index = attempt_.first_index;
  if (attempt_.checkpoint) context.starting_checkpoint = attempt_.checkpoint->to_value();
  group_->send(a.rank, rtrain::to_value(context));
}

void Controller::perform(const action::SetDeadline& a) { deadline_.start(to_ms(a.seconds)); }
void Controller::perform(const action::ClearDeadline&) { deadline_.stop(); }
void Controller::perform(const action::SetVerdictTimer& a) { verdict_.start(to_ms(a.seconds)); }

// What failed is told in an event before this: the user's callbacks see it before the next attempt.
void Controller::perform(const action::SetRetryTimer& a) {
  const auto delay = to_ms(a.seconds);
  if (!seams_.spec.has_callbacks) return retry_.start(delay);
  const ScriptQuestion question{
      "before_retry", {}, to_ms(seams_.spec.callback_timeout_s), "RTRAIN_CALLBACK_TIMEOUT_S"};
  seams_.calls.ask(seams_.loop, question,
                   [this, delay](const auto&, const std::optional<Error>& error) {
                     if (error) emit_notice("warning", error->message());
                     retry_.start(delay);
                   });
}

void Controller::perform(const action::SendExit&) { group_->send_all(Map{{"type", "exit"}}); }
void Controller::perform(const action::AskToStop& a) {
  const double most =
      a.kind == StopKind::kInterrupt ? kInterruptGraceS : seams_.spec.preemption_grace_s;
  const double grace_s = std::min(most, seams_.spec.preemption_grace_s);
  emit_stopping(a.kind, grace_s);
  stop_course_->start(grace_s);
}

void Controller::emit_stopping(StopKind kind, double grace_s) {
  emit("stopping", {{"kind", stop_name(kind)}, {"by", stop_by_}, {"grace_s", grace_s}});
  on_io([attempt = machine_.attempt, text = cat("a stop was requested: ", stop_by_)](RunRecord& r) {
    r.add_event(attempt, "info", text);
  });
}

void Controller::perform(const action::KillGroup&) {
  if (!group_) return;
  watchdog_->stop();
  if (join_server_) join_server_->withdraw();
  group_->kill();
  kill_notice_.start(kKillNotice);
}

// SIGKILL is no more than a wish for a process that waits in the kernel.
void Controller::name_survivors() {
  for (int rank = 0; rank < group_->size(); ++rank) {
    if (machine_.ranks[static_cast<size_t>(rank)].gone) continue;
    if (seams_.spec.local) {
      emit_notice("warning", cat("rank ", rank, " (pid ", group_->pid(rank),
                                 "): the train function, which runs in the script's process, has "
                                 "not ended yet"));
      continue;
    }
    emit_notice("warning", cat("rank ", rank, " (pid ", group_->pid(rank), ") has not ended ",
                               kKillNotice.count(),
                               " s after SIGKILL: it waits in the kernel, for a "
                               "disk, a network file system or a device"));
  }
}

void Controller::perform(const action::EndAttempt& a) {
  verdict_.stop();
  resize_.stop();
  kill_notice_.stop();
  collectives_.reset();
  if (stop_course_) stop_course_->close();
  if (!a.error && reports_) {
    if (const std::string text = reports_->uneven(); !text.empty()) emit_notice("warning", text);
  }
  batch_.flush();
  // Behind the reports and commits that are on their way there: those count before the failure
  // does.
  on_io(
      [number = machine_.attempt, status = std::string(state_name(a.status)),
       error = to_value(a.error)](RunRecord& record) {
        record.end_attempt(number, status, error);
        return true;
      },
      [this](std::optional<bool>, const std::optional<Error>& error) {
        if (error) feed(event::StorageFailed{*error});
        feed(event::AttemptEnded{new_checkpoint_});
      });
}

void Controller::perform(const action::ReportFailure& a) {
  on_io([counts = machine_.policy.counts().to_value()](RunRecord& record) {
    record.set_failures(counts);
  });
  emit("attempt_failed",
       {{"error", to_value(std::optional(a.error))},
        {"will_retry", a.decision.retry},
        {"delay_s", a.decision.delay_s},
        {"reason", a.decision.reason},
        {"next_attempt", a.decision.retry ? Value(machine_.attempt + 1) : Value()}});
}

// Validations go on after the training, but not after a run that was stopped.
void Controller::perform(const action::EndRun& a) {
  cores_.cancel();
  if (a.status == RunState::kFinished || a.status == RunState::kErrored) {
    return checkpoints_.drain([this, a] { end_run(a); });
  }
  checkpoints_.cancel();
  end_run(a);
}

void Controller::end_run(const action::EndRun& a) {
  batch_.flush();
  on_io(
      [status = std::string(state_name(a.status)), error = to_value(a.error),
       return_value = return_value_](RunRecord& record) {
        record.end_run(status, error, return_value);
        return true;
      },
      [this](std::optional<bool>, const std::optional<Error>& error) {
        if (error) feed(event::StorageFailed{*error});
        feed(event::RunEnded{});
      });
}

void Controller::perform(const action::Finish& a) {
  on_io(
      [](RunRecord& record) { return record.checkpoints().ranked(); },
      [this, a](std::optional<CheckpointManager::Ranked> checkpoints, const std::optional<Error>&) {
        Map fields{{"status", state_name(a.status)},
                   {"run_id", seams_.record.run_id()},
                   {"name", seams_.spec.name},
                   {"path", seams_.record.run_path()},
                   {"metrics", metrics_},
                   {"reports", num_reports_},
                   {"error", to_value(a.error)},
                   {"return_value", return_value_},
                   {"attempts", machine_.attempt}};
        if (checkpoints) {
          fields.set("best_checkpoints", values(checkpoints->best));
          if (checkpoints->latest) fields.set("checkpoint", checkpoints->latest->to_value());
        }
        if (join_server_) join_server_->end(ended_message(fields));
        emit("finished", std::move(fields));
        seams_.loop.stop();
      });
}

void Controller::on_message(int rank, const Value& message) {
  const std::string& type = message["type"].as_string();
  if (type == "call") {
    for (auto& answer : store_.call(rank, message)) {
      group_->send(answer.rank,
                   Map{{"type", "reply"}, {"id", answer.id}, {"value", std::move(answer.value)}});
    }
  } else if (type == "sync") {
    collectives_->on_message(rank, message);
  } else if (type == "cancel") {
    store_.cancel(rank, message["id"].as_int());
  } else if (type == "report") {
    reports_->on_report(rank, message);
    checkpoints_.progressed();
  } else if (type == "files") {
    reports_->on_files(rank, message);
  } else if (type == "uploaded") {
    reports_->on_uploaded(rank, message);
    checkpoints_.progressed();
  } else if (type == "checkpoints") {
    checkpoints_.ask(rank, message);
  } else if (type == "damaged") {
    on_damaged(message);
  } else if (type == "series") {
    SeriesChunk chunk = SeriesChunk::from_value(message["chunk"]);
    chunk.attempt = machine_.attempt;
    chunk.rank = rank;
    batch_.add(std::move(chunk));
  } else if (type == "series_dropped") {
    emit_notice("warning", cat("rank ", rank, ": train.log dropped ", message["count"].as_int(),
                               " points, which came faster than they could be stored"));
  } else if (type == "annotation") {
    batch_.add(AnnotationRow{machine_.attempt, rank, message["time"].as_int(),
                             message["severity"].as_string(), message["text"].as_string()});
  } else if (type == "hello") {
    on_hello(rank, message);
  } else if (type == "phase") {
    const std::string& name = message["name"].as_string();
    const auto phase = phase_from_name(name);
    if (!phase) throw Error(Code::kArgument, cat("unknown phase '", name, "'"));
    emit("phase", {{"rank", rank}, {"phase", name}});
    // A local worker shows nothing, and could not be ended.
    if (*phase == Phase::kRunning && !seams_.spec.local) watchdog_->set_started(rank);
    feed(event::PhaseReached{rank, *phase});
  } else if (type == "stack") {
    watchdog_->on_stack(rank, message);
  } else if (type == "returned") {
    on_returned(rank, message);
  } else if (type == "stop_calls") {
    stop_course_->on_calls(rank, message);
  } else if (type == "stop_seen") {
    stop_course_->on_seen(message);
    feed(event::StopSeen{});
  } else if (type == "signal") {
    signals_.on_forwarded(static_cast<int>(message["number"].as_int()));
  } else if (type == "failed") {
    on_failed(rank, message["error"]);
  } else {
    throw Error(Code::kArgument, cat("unknown message '", type, "'"));
  }
}

// Messages cut a long error short: all of it is in the rank's log.
void Controller::on_failed(int rank, const Value& message) {
  const Error error = error_from_value(message);
  stop_course_->on_left(rank);
  batch_.add_log(
      machine_.attempt, cat("rank-", rank),
      cat(error.message(), "\n", error.traceback(), error.traceback().empty() ? "" : "\n"));
  feed(event::Failed{rank, error, message["time"].as_float()});
}

void Controller::on_hello(int rank, const Value& message) {
  const int64_t version = message["version"].as_int();
  const std::string& id = message["build_id"].as_string();
  if (version != kProtocolVersion || id != build_id()) {
    throw Error(Code::kEnvironment, "the worker is another build of rtrain than the controller");
  }
  if (seams_.spec.join) {
    const auto pid = static_cast<int>(message["pid"].as_int());
    group_->set_pid(rank, pid);
    workers_.at(static_cast<size_t>(rank)).pid = pid;
    record_workers();
  }
  emit("phase", {{"rank", rank}, {"phase", phase_name(Phase::kHello)}});
  watchdog_->set_attached(rank);
  feed(event::PhaseReached{rank, Phase::kHello});
}

// In the channels may lie that it has returned, why it ends, or another rank's error before that.
void Controller::on_dying(int rank) {
  const double now_s = monotonic_s();
  group_->drain();
  feed(event::Dying{rank, now_s});
}

void Controller::on_damaged(const Value& message) {
  on_io([path = message["path"].as_string(), problem = message["problem"].as_string()](
            RunRecord& record) { record.checkpoints().set_damaged(path, problem); });
}

void Controller::make_intake(int size) {
  reports_ = std::make_unique<ReportIntake>(
      seams_.loop,
      ReportIntake::Options{.world_size = size,
                            .first_index = attempt_.first_index,
                            .timeout_s = seams_.spec.timeout_s,
                            .notice_s = seams_.spec.report_notice_s},
      ReportIntake::Seams{
          .send = [this](int rank, const Value& message) { group_->send(rank, message); },
          .on_report =
              [this](const Report& report) {
                batch_.add(
                    {machine_.attempt, report.index, report.rank, report.time_ms, report.metrics});
              },
          .on_complete = [this](std::vector<Report> reports) { complete(std::move(reports)); },
          .on_notice = [this](const std::string& text) { emit_notice("warning", text); },
          .unwritten_bytes =
              [this] { return batch_.unwritten_bytes() + seams_.events.waiting_bytes(); }});
}

void Controller::on_returned(int rank, const Value& message) {
  reports_->on_returned(rank);
  collectives_->on_returned(rank);
  stop_course_->on_left(rank);
  if (rank == 0) return_value_ = message["value"];
  watchdog_->set_returned(rank);
  feed(event::Returned{rank});
  checkpoints_.progressed();
}

void Controller::complete(std::vector<Report> reports) {
  metrics_ = reports.front().metrics;
  const Report* failed = failed_upload(reports);
  const bool has_checkpoint =
      std::any_of(reports.begin(), reports.end(), [](const Report& r) { return r.has_checkpoint; });
  if (has_checkpoint && failed == nullptr) return commit(std::move(reports));
  if (failed != nullptr) answer_failed(*failed);
  if (commits_.empty()) return emit_report(reports, nullptr);
  // Behind the commit of an earlier report, so that events come in the order of their numbers.
  on_io([](RunRecord&) { return true; },
        [this, reports = std::move(reports)](const auto&, const auto&) {
          emit_report(reports, nullptr);
        });
}

// Without one rank's part the checkpoint would not be whole. The rank itself has its own error.
void Controller::answer_failed(const Report& failed) {
  const Error error(Code::kPeerLost,
                    cat("report() number ", failed.index, ": rank ", failed.rank,
                        " could not upload its part of the checkpoint: ", failed.error->message()));
  group_->send_all(Map{{"type", "reported"},
                       {"index", failed.index},
                       {"error", error_to_value(error, monotonic_s())}});
}

void Controller::commit(std::vector<Report> reports) {
  const auto committing = commits_.insert(reports.front().index);
  batch_.flush();
  const int attempt = machine_.attempt;
  on_io([attempt, reports](RunRecord& record) { return record.commit(attempt, reports); },
        [this, attempt, committing, reports](std::optional<CheckpointManager::Committed> done,
                                             const std::optional<Error>& error) {
          commits_.erase(committing);
          Map answer{{"type", "reported"}, {"index", reports.front().index}};
          if (error) {
            answer.set("error", error_to_value(*error, monotonic_s()));
          } else {
            new_checkpoint_ = true;
            feed(event::CheckpointCommitted{attempt});
            answer.set("path", done->checkpoint.path);
            for (const std::string& text : done->warnings) emit_notice("warning", text);
            on_io([names = done->dropped](RunRecord& record) { record.checkpoints().drop(names); });
          }
          group_->send_all(answer);
          emit_report(reports, error ? Value() : Value(done->checkpoint.path));
          if (done) checkpoints_.committed(done->checkpoint);
          checkpoints_.progressed();
          if (done) stop_course_->on_committed(reports.front().index);
        });
}

void Controller::emit_report(const std::vector<Report>& reports, const Value& path) {
  List ranks;
  for (const Report& report : reports) ranks.push_back(report.metrics);
  seams_.events.add_report(event_map("report", {{"index", reports.front().index},
                                                {"count", ++num_reports_},
                                                {"metrics", reports.front().metrics},
                                                {"ranks", std::move(ranks)},
                                                {"checkpoint", path}}));
}

void Controller::on_output(int rank, std::string_view bytes) {
  batch_.add_log(machine_.attempt, cat("rank-", rank), bytes);
  hold_output();
}

// Output that comes faster than it is written to the logs waits in the workers and validations.
void Controller::hold_output() {
  const bool wanted = batch_.unwritten_bytes() > kMaxUnwrittenOutput;
  checkpoints_.hold_output(wanted);
  if (!group_ || wanted == holds_output_) return;
  holds_output_ = wanted;
  group_->hold_output(wanted);
}

void Controller::on_line(int rank, std::string_view stream, std::string line) {
  seams_.events.add_output(
      event_map("output", {{"rank", rank}, {"stream", stream}, {"text", std::move(line)}}));
}

void Controller::on_gone(int rank, const WorkerEnd& end) {
  WorkerRow& row = workers_.at(static_cast<size_t>(rank));
  if (end.status.signal != 0) {
    row.signal = end.status.signal;
  } else if (end.is_child) {
    row.exit_code = end.status.exit_code;
  }
  record_workers();
  stop_course_->on_left(rank);
  watchdog_->set_gone(rank);
  const int64_t new_oom_kills = oom_kills().value_or(oom_kills_before_) - oom_kills_before_;
  const Error error = worker_death(rank, end, watchdog_->page(rank).crash, new_oom_kills);
  const double now_s = monotonic_s();
  group_->drain();
  feed(event::Gone{rank, error, now_s});
}

void Controller::record_workers() {
  on_io([attempt = machine_.attempt, rows = workers_](RunRecord& record) {
    record.set_workers(attempt, rows);
  });
}

Map Controller::event_map(std::string_view type, Map fields) const {
  fields.set("type", type);
  fields.set("attempt", machine_.attempt);
  fields.set("time", now_ms());
  return fields;
}

void Controller::emit(std::string_view type, Map fields) {
  seams_.events.add(event_map(type, std::move(fields)));
}

void Controller::emit_notice(std::string_view level, const std::string& text) {
  emit("notice", {{"level", level}, {"text", text}});
  on_io([attempt = machine_.attempt, level = std::string(level), text](RunRecord& record) {
    record.add_event(attempt, level, text);
  });
}

}  // namespace rtrain
