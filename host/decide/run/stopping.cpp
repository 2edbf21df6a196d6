// How a run is stopped, by RunConfig.stop, for a resize, or from outside.
#include "host/decide/run/transition.h"

namespace rtrain::decide {

void Transition::on(const event::StopRequested& e) {
  if (!accept(e.kind, e.by)) return;
  if (awaits_room() && is_stopped()) add(action::SetDeadline{0});
  if (is_healing()) return;  // the ranks are asked when the heal is complete
  if (is<stage::Growing>()) {
    m_.stage = stage::Running{};
    add(action::AskToGrow{false});
  }
  if (may_ask()) return ask_to_stop(*m_.stop);
  if (m_.state() != RunState::kShuttingDown) stop_at_once();
}

void Transition::on(const event::StopSeen&) {
  if (m_.stop) m_.stop->seen = true;
}

void Transition::on(const event::CheckpointCommitted& e) {
  if (m_.stop && e.attempt == m_.attempt) m_.stop->saved = true;
}

void Transition::on(const event::StopComplete& e) {
  if (m_.stop && e.attempt == m_.attempt && !is_failing()) kill();
}

// The grace period does not end a group that will only grow.
void Transition::on(const event::GracePassed& e) {
  if (!m_.stop || e.attempt != m_.attempt || is_failing()) return;
  if (!has_group(m_.stage) || is<stage::Killed>()) return;
  if (m_.stop->kind == StopKind::kResize && m_.stop->resize_to > m_.num_workers) return;
  m_.stop->out_of_time = true;
  kill();
}

void Transition::on(const event::StopNow& e) {
  if (accept(e.kind, e.by) || (m_.stop && !is_ending(m_.stage))) stop_at_once();
}

// Records the request. Returns false where it comes too late or another one is at least as strong.
bool Transition::accept(StopKind kind, const std::string& by) {
  if (is_ending(m_.stage)) return false;
  const bool returning = m_.stop && m_.stop->seen;
  if (all_returned(m_.group.ranks) && !is_failing() && !returning) return false;
  if (m_.stop && !is_stronger(kind, m_.stop->kind)) return false;
  if (!m_.stop) m_.stop.emplace();
  m_.stop->kind = kind;
  m_.stop->by = by;
  return true;
}

void Transition::ask_to_stop(const StopProgress& stop) {
  RT_CHECK(may_ask());
  m_.stage = stage::Stopping{};
  m_.stop = stop;
  keep_spares(false);
  add(action::AskToStop{stop.kind});
}

// Where a row is being written, the run ends after that.
void Transition::stop_at_once() {
  if (is_between_attempts(m_.stage)) return finish_stop({.new_checkpoint = false});
  if (!m_.group.ranks.empty()) kill();
}

void Transition::finish_stop(const event::AttemptEnded& end) {
  const StopProgress stop = *m_.stop;
  switch (stop.kind) {
    case StopKind::kResize:
      return finish_resize(stop, end);
    case StopKind::kPredicate:
      return end_run(RunState::kFinished, std::nullopt);
    case StopKind::kTerminate:
      return finish_preemption(stop, end);
    default:
      return end_run(RunState::kAborted, GroupError{.cause = stop_error(stop)});
  }
}

// A group that lost cores and could not save in time counts as preempted.
void Transition::finish_resize(const StopProgress& stop, const event::AttemptEnded& end) {
  m_.stop.reset();
  if (stop.out_of_time && !stop.saved) {
    return charge(resize_error(m_.num_workers, stop.resize_to), end);
  }
  request_resources(RunState::kResizing);
}

void Transition::finish_preemption(const StopProgress& stop, const event::AttemptEnded& end) {
  const GroupError error =
      preemption_error(stop, m_.policy.decide({stop_error(stop), end.new_checkpoint,
                                               FailureKind::kPreemption, true, end.ran_s}));
  const bool saved = error.cause.code() == Code::kPreempted;
  end_run(saved ? RunState::kPreempted : RunState::kAborted, error);
}

}  // namespace rtrain::decide
