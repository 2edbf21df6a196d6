// The controller's methods for the actions of the state machine.
#include <algorithm>
#include <cmath>
#include <utility>

#include "host/base/clock.h"
#include "host/base/rank_ranges.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/machine/machine.h"
#include "host/store/files/file.h"
#include "host/train/controller.h"

namespace rtrain::train {
namespace {

// A user who has pressed Ctrl-C waits for the end.
constexpr double kInterruptGraceS = 10;

List values(const std::vector<store::CheckpointRow>& checkpoints) {
  List out;
  for (const store::CheckpointRow& checkpoint : checkpoints)
    out.push_back(to_value<ReportedCheckpoint>(checkpoint));
  return out;
}

std::string text_of(const std::vector<int>& ranks) {
  return rank_ranges(std::vector<int64_t>(ranks.begin(), ranks.end()));
}

}  // namespace

void Controller::perform(const decide::action::RequestResources&) {
  resources_->request([this](int workers) { feed(decide::event::ResourcesGranted{workers}); });
}

void Controller::perform(const decide::action::BeginAttempt& a) { begin_attempt(a); }

// Calls itself again after each checkpoint that must be fetched first.
void Controller::begin_attempt(const decide::action::BeginAttempt& a) {
  io_.call(
      [a, can_fetch = context_.spec.can_fetch](RunRecord& record) {
        if (a.first_index) return record.begin_healed(a.attempt, a.num_workers, *a.first_index);
        return record.begin_attempt(a.attempt, a.num_workers, can_fetch);
      },
      [this, a](std::optional<RunRecord::AttemptStart> start, const std::optional<Error>& error) {
        if (error) on_storage_error(*error);
        if (start && start->wanted) {
          for (const std::string& text : start->notices) events_.notice("warning", text);
          return checkpoints_.fetch(*start->wanted, [this, a] { begin_attempt(a); });
        }
        if (start && a.carries) start->carried = carried_;
        if (start) begun_attempt(std::move(*start), a.first_index.has_value());
        feed(decide::event::AttemptBegun{});
      });
}

void Controller::begun_attempt(RunRecord::AttemptStart start, bool is_heal) {
  start_ = std::move(start);
  Value metrics = is_heal ? commits_.metrics() : Value();
  if (start_.checkpoint) metrics = start_.checkpoint->metrics;
  commits_.begin_attempt(machine_.attempt, std::move(metrics));
  events_.emit("attempt_begun", {{"first_index", start_.first_index}});
  for (const std::string& text : start_.notices) events_.notice("warning", text);
}

AttemptContext Controller::attempt_context() {
  return {.run = run_,
          .writer = writer_,
          .checkpoints = checkpoints_,
          .resources = *resources_,
          .signals = signals_};
}

void Controller::perform(const decide::action::SpawnGroup& a) {
  checkpoints_.begin_attempt();
  attempt_ = std::make_unique<Attempt>(attempt_context(), *this, a.attempt, a.num_workers, start_);
  running_since_s_.reset();
  lost_since_s_.reset();
  health_.begin_attempt();
  attempt_->spawn();
  check_own_node();
}

// Checks this node while the workers start. In a job the nodes were checked before.
void Controller::check_own_node() {
  const bool is_job = context_.nodes != nullptr && context_.spec.uses_nodes();
  if (is_job || own_health_ || !context_.spec.health_config.preflight) return;
  own_health_ = std::make_unique<NodeJudge>(run_, attempt_->gpus(), 0, *this);
  own_health_->add(0, machine::hostname(), "", "");
  own_health_->check([] {});
}

void Controller::on_evidence(decide::Evidence evidence, std::function<void()> decided) {
  health_.add(std::move(evidence), std::move(decided));
}

void Controller::on_evidence(decide::Evidence evidence) {
  on_evidence(std::move(evidence), [] {});
}

void Controller::diagnose(const std::string& text) {
  if (attempt_ && !machine_.group.ranks.empty()) attempt_->diagnose(text);
}

std::optional<int> Controller::rank_on(int node) const {
  if (!attempt_ || machine_.group.ranks.empty()) return std::nullopt;
  return attempt_->nodes().rank_on(node);
}

void Controller::perform(const decide::action::SetDeadline& a) {
  deadline_of_ = a;
  deadline_due_s_ = monotonic_s() + a.seconds;
  deadline_.start(to_ms(a.seconds));
}

void Controller::on_deadline() {
  if (stood_still(deadline_due_s_, monotonic_s())) return perform(deadline_of_);
  feed(decide::event::DeadlinePassed{machine_.attempt});
}

void Controller::perform(const decide::action::SetVerdictTimer& a) {
  verdict_.start(to_ms(a.seconds));
}
void Controller::perform(const decide::action::SetResizeTimer& a) {
  resize_.start(to_ms(a.seconds));
}

void Controller::look_for_room() {
  resources_->look([this, attempt = machine_.attempt](int capacity) {
    feed(decide::event::ResourcesSeen{attempt, capacity});
  });
}

void Controller::perform(const decide::action::TellResize& a) {
  events_.notice(
      "info",
      cat("the group goes on with ", a.to, a.to == 1 ? " worker" : " workers", " instead of ",
          a.from, a.at_commit ? " after its next commit" : " after its next checkpoint"));
}

void Controller::perform(const decide::action::AskToGrow& a) {
  if (!a.is) return attempt_->cancel_growth();
  if (a.is_in_place) return attempt_->ask_to_share();
  carried_ = cat(run_.run_path, "/elastic-", machine_.attempt);
  attempt_->ask_to_grow(carried_);
}

void Controller::perform(const decide::action::DropCarried&) {
  io_.write([folder = std::exchange(carried_, "")](RunRecord&) { store::remove_tree(folder); });
}

// An event has reported the failure already, so the user's callbacks see it before the next
// attempt.
void Controller::perform(const decide::action::SetRetryTimer& a) {
  const auto delay = to_ms(a.seconds);
  if (!context_.spec.has_callbacks) return retry_.start(delay);
  const ScriptQuestion question{
      "before_retry", {}, to_ms(context_.spec.callback_timeout_s), "RTRAIN_CALLBACK_TIMEOUT_S"};
  context_.calls.ask(context_.loop, question,
                     [this, delay](const auto&, const std::optional<Error>& error) {
                       if (error) events_.notice("warning", error->message());
                       retry_.start(delay);
                     });
}

void Controller::perform(const decide::action::AskToStop& a) {
  const double most = a.kind == decide::StopKind::kInterrupt
                          ? kInterruptGraceS
                          : context_.spec.failure_config.preemption_grace_s;
  const double grace_s = std::min(most, context_.spec.failure_config.preemption_grace_s);
  // To grow, a group may wait until its next checkpoint, without a time limit.
  const bool has_end =
      a.kind != decide::StopKind::kResize || machine_.stop->resize_to < machine_.num_workers;
  tell_stopping(a.kind, has_end ? grace_s : 0);
  attempt_->ask_to_stop(grace_s);
}

void Controller::tell_stopping(decide::StopKind kind, double grace_s) {
  events_.emit("stopping",
               {{"kind", decide::stop_name(kind)}, {"by", stop_by_}, {"grace_s", grace_s}});
  events_.record("info", cat("a stop was requested: ", stop_by_));
}

void Controller::perform(const decide::action::SendExit&) { attempt_->send_all(message::Exit{}); }

void Controller::perform(const decide::action::KillGroup&) {
  resources_->stop_finding();
  if (attempt_) attempt_->kill();
}

void Controller::perform(const decide::action::EndAttempt& a) {
  verdict_.stop();
  resize_.stop();
  if (attempt_ && attempt_->number() == machine_.attempt) {
    const std::string uneven = attempt_->close();
    if (!a.error && !uneven.empty()) events_.notice("warning", uneven);
  }
  writer_.flush();
  const double ran_s = running_since_s_ ? monotonic_s() - *running_since_s_ : 0;
  std::optional<decide::GroupError> error = a.error;
  if (a.status == decide::RunState::kAborted &&
      machine_.stop->kind == decide::StopKind::kTerminate) {
    error->cause = Error(error->cause.code(), cat(error->cause.message(), ": ", stop_by_));
  }
  // Flushes the writer first: reports and commits that are being written count before the failure
  // does.
  io_.call(
      [number = machine_.attempt, status = std::string(decide::state_name(a.status)),
       error = decide::to_value(error)](RunRecord& record) {
        record.end_attempt(number, status, error);
        return true;
      },
      [this, ran_s](std::optional<bool>, const std::optional<Error>& error) {
        if (error) on_storage_error(*error);
        feed(decide::event::AttemptEnded{commits_.has_new_checkpoint(), ran_s});
      });
}

void Controller::perform(const decide::action::TellDeath& a) {
  if (a.effect != decide::DeathEffect::kEnds && !lost_since_s_) lost_since_s_ = monotonic_s();
  attempt_->tell_death(a.rank, a.effect, a.because);
}

void Controller::perform(const decide::action::Unwind& a) {
  if (!lost_since_s_) lost_since_s_ = monotonic_s();
  attempt_->tell_lost(a.rank);
}

void Controller::perform(const decide::action::TellLeftOut& a) {
  events_.notice("warning", cat("rank ", a.rank, " cannot be replaced: ", a.error.message(),
                                ": the others go on without it"));
}

void Controller::perform(const decide::action::EndHealed& a) {
  attempt_->close_healed(a.next_index);
  writer_.flush();
  io_.call(
      [number = machine_.attempt,
       error = decide::to_value(std::optional(a.error))](RunRecord& record) {
        record.end_attempt(number, "HEALED", error);
        return true;
      },
      [this](std::optional<bool>, const std::optional<Error>& error) {
        if (error) on_storage_error(*error);
        feed(decide::event::AttemptEnded{commits_.has_new_checkpoint()});
      });
}

void Controller::perform(const decide::action::HealGroup& a) {
  checkpoints_.begin_attempt();
  const int before = attempt_->num_workers();
  auto next = std::make_unique<Attempt>(attempt_context(), *this, a, start_, *attempt_, room_);
  attempt_ = std::move(next);
  if (attempt_->num_workers() < before) {
    events_.notice("warning", cat("the group goes on with ", counted(a.kept.size(), "worker"),
                                  " instead of ", before));
  }
  attempt_->heal(a.lost);
}

void Controller::perform(const decide::action::FindRoom& a) {
  room_.clear();
  resources_->find_room(
      nodes_of(attempt_->nodes(), a.ranks), nodes_without(attempt_->nodes(), a.ranks),
      [this, ranks = a.ranks, attempt = machine_.attempt](std::vector<int> nodes) {
        room_ = std::move(nodes);
        feed(decide::event::RoomFound{attempt, ranks});
      });
  if (!room_.empty() || machine_.stop) return;
  events_.notice("warning",
                 cat("no node has room for ", text_of(a.ranks), " now: the others wait ",
                     machine_.heal_limits.room_timeout_s, " s (RTRAIN_JOIN_TIMEOUT_S) for one"));
}

void Controller::perform(const decide::action::TellNoRoom& a) {
  events_.notice("warning", cat("no node has had room for ", text_of(a.ranks),
                                ": the others do not go on without them"));
}

void Controller::perform(const decide::action::LookAgain&) {
  context_.loop.post([this, attempt = machine_.attempt] { feed(decide::event::HealDue{attempt}); });
}

void Controller::perform(const decide::action::KeepSpares& a) { attempt_->keep_spares(a.are); }

void Controller::perform(const decide::action::TellHealed&) {
  const double seconds = monotonic_s() - std::exchange(lost_since_s_, std::nullopt).value_or(0);
  events_.notice("info", cat("all ranks go on from their last commit, after ",
                             std::llround(seconds * 1000), " ms"));
  io_.write([number = machine_.attempt, seconds](RunRecord& record) {
    record.set_heal(number, seconds);
  });
}

void Controller::perform(const decide::action::TellFailure& a) {
  io_.write([counts = machine_.policy.counts().to_value()](RunRecord& record) {
    record.set_failures(counts);
  });
  events_.emit("attempt_failed",
               {{"error", decide::to_value(std::optional(a.error))},
                {"will_retry", a.decision.retry},
                {"delay_s", a.decision.delay_s},
                {"reason", a.decision.reason},
                {"next_attempt", a.decision.retry ? Value(machine_.attempt + 1) : Value()}});
}

// Validations continue after the training, but not after a run that was asked to stop.
void Controller::perform(const decide::action::EndRun& a) {
  resources_->cancel();
  if (a.status == decide::RunState::kFinished || a.status == decide::RunState::kErrored) {
    return checkpoints_.drain([this, a] { end_run(a); });
  }
  checkpoints_.cancel();
  end_run(a);
}

void Controller::end_run(const decide::action::EndRun& a) {
  writer_.flush();
  io_.call(
      [status = std::string(decide::state_name(a.status)), error = decide::to_value(a.error),
       value = return_value()](RunRecord& record) {
        record.end_run(status, error, value);
        return true;
      },
      [this](std::optional<bool>, const std::optional<Error>& error) {
        if (error) on_storage_error(*error);
        if (!machine_.storage_error) resources_->end_run();
        feed(decide::event::RunEnded{});
      });
}

void Controller::perform(const decide::action::Finish& a) {
  io_.call([](RunRecord& record) { return record.checkpoints().ranked(); },
           [this, a](const std::optional<CheckpointManager::Ranked>& ranked, const auto&) {
             Map fields = finished(a, ranked);
             tell_end(fields);
             if (abandoned_ && a.error) abandoned_ = exit_code(a.error->cause.code());
             events_.emit("finished", std::move(fields));
             context_.loop.stop();
           });
}

// Sends the end of the run to the processes of the other ranks.
void Controller::tell_end(const Map& finished) {
  if (!context_.spec.join) return;
  const message::Ended ended = ended_message(finished);
  endpoints_->end(ended);
  resources_->tell_end(ended);
}

Map Controller::finished(const decide::action::Finish& a,
                         const std::optional<CheckpointManager::Ranked>& ranked) {
  Map fields{{"status", decide::state_name(a.status)},
             {"run_id", context_.record.run_id()},
             {"name", context_.spec.name},
             {"path", context_.record.run_path()},
             {"metrics", commits_.metrics()},
             {"reports", commits_.num_reports()},
             {"error", decide::to_value(a.error)},
             {"return_value", return_value()},
             {"attempts", machine_.attempt},
             {"waited_s", resources_->waited_s()}};
  if (!ranked) return fields;
  fields.set("best_checkpoints", values(ranked->best));
  if (ranked->latest) fields.set("checkpoint", to_value<ReportedCheckpoint>(*ranked->latest));
  return fields;
}

}  // namespace rtrain::train
