// How an attempt and the run end, and whether another attempt begins.
#include "host/base/text/text.h"
#include "host/decide/run/transition.h"

namespace rtrain::decide {
namespace {

// The time that workers have to end after their train functions have returned.
constexpr double kExitTimeoutS = 5;

}  // namespace

void Transition::on(const event::Returned& e) {
  RankState& rank = rank_of(e.rank);
  rank.returned = true;
  rank.phase = Phase::kRunning;
  if (is<stage::Killed>()) return;
  update_slowest();
  keep_spares(false);
  stop_growing();
  // A rank that has returned does not go back to a commit.
  if (is<stage::Gathering>()) return fail_growth(cat("rank ", e.rank, " has returned"));
  if (is<stage::Unwinding>() && !can_heal()) return give_up_heal();
  if (is_failing()) return check_verdict();
  if (!all_returned(m_.group.ranks)) return;
  m_.stage = stage::Returning{};
  add(action::SendExit{});
  add(action::SetDeadline{kExitTimeoutS});
}

void Transition::on(const event::AttemptEnded& e) {
  if (const auto* recording = as<stage::Recording>()) return reopen(stage::Recording(*recording));
  RT_CHECK(is<stage::Closing>());
  m_.group.ranks.clear();
  m_.group.is_healed = false;
  if (m_.storage_error) return end_without_storage();
  if (m_.error()) return charge(*m_.error(), e);
  if (m_.stop) return finish_stop(e);
  end_run(RunState::kFinished, std::nullopt);
}

void Transition::on(const event::RetryDue& e) {
  const auto* pausing = as<stage::Pausing>();
  if (pausing == nullptr || e.attempt != m_.attempt) return;
  request_resources(pausing->state, m_.error());
}

void Transition::on(const event::RunEnded&) {
  const stage::Ending ending = std::get<stage::Ending>(m_.stage);
  m_.stage = stage::Over{ending.outcome, ending.error};
  add(action::Finish{ending.outcome, ending.error});
}

void Transition::end_attempt() {
  std::optional<GroupError> error;
  if (m_.group.error) {
    error = m_.group.error;
    error->ranks = first_cause(m_.group.ranks).ranks;
  } else if (is_failing() && !was_taken()) {
    error = first_cause(m_.group.ranks);
  } else if (m_.stop && all_returned(m_.group.ranks) && !m_.stop->seen) {
    m_.stop.reset();  // no rank saw it: the train function had finished
  }
  m_.stage = stage::Closing{error};
  add(action::ClearDeadline{});
  add(outcome(error));
}

// Whether a rank died while the run was being stopped from outside: the stop counts as the cause.
bool Transition::was_taken() const {
  return m_.stop && is_from_outside(m_.stop->kind) && any_died(m_.group.ranks);
}

action::EndAttempt Transition::outcome(const std::optional<GroupError>& error) const {
  if (error) return {RunState::kErrored, error};
  if (!m_.stop || !is_from_outside(m_.stop->kind)) return {RunState::kFinished, std::nullopt};
  return {RunState::kAborted, GroupError{.cause = stop_error(*m_.stop)}};
}

// Retries a failed attempt where its budget allows it, and the run is not stopped from outside.
void Transition::charge(const GroupError& error, const event::AttemptEnded& end) {
  const FailureDecision decision = m_.policy.decide(
      {error.cause, end.new_checkpoint, error.kind, m_.group.is_transient, end.ran_s});
  if (decision.retry && m_.stop && is_from_outside(m_.stop->kind)) {
    add(action::TellFailure{error, {.reason = "the run is being stopped"}});
    return finish_stop(end);
  }
  add(action::TellFailure{error, decision});
  if (!decision.retry) return end_run(RunState::kErrored, error);
  m_.stop.reset();
  m_.stage =
      stage::Pausing{m_.group.ran ? RunState::kRestarting : RunState::kRescheduling, m_.error()};
  add(action::SetRetryTimer{decision.delay_s});
}

void Transition::end_without_storage() {
  const std::optional<GroupError> error = m_.error();
  end_run(RunState::kErrored, error ? error : m_.storage_error);
}

void Transition::end_run(RunState outcome, std::optional<GroupError> error) {
  RT_CHECK(is_end(outcome) && m_.group.ranks.empty());
  add(action::EndRun{outcome, error});
  m_.stage = stage::Ending{outcome, std::move(error)};
}

}  // namespace rtrain::decide
