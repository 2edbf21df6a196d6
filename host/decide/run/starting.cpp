// How the workers of an attempt start and reach the train function.
#include <algorithm>

#include "host/base/text/text.h"
#include "host/decide/run/transition.h"

namespace rtrain::decide {

GroupError controller_error(const Error& error, int rank) {
  return {.cause = error, .rank = rank, .kind = FailureKind::kController, .ranks = {}};
}

void Transition::on(const event::Started&) {
  if (is<stage::Initializing>()) request_resources(RunState::kInitializing);
}

void Transition::on(const event::ResourcesGranted& e) {
  if (is<stage::Requesting>()) begin_attempt(e.num_workers);
}

void Transition::on(const event::ResourcesRefused& e) {
  if (is<stage::Requesting>()) end_run(RunState::kErrored, controller_error(e.error));
}

void Transition::on(const event::AttemptBegun&) {
  if (is<stage::Reopening>()) return replace_lost();
  RT_CHECK(is<stage::Beginning>());
  if (m_.stop || m_.storage_error) return end_attempt();
  m_.stage = stage::Starting{};
  m_.group.ranks.assign(static_cast<size_t>(m_.num_workers), {});
  add(action::SpawnGroup{m_.attempt, m_.num_workers});
  add(action::SetDeadline{m_.start_timeout_s});
}

// Other nodes may have started their ranks: those are gone at their event Gone.
void Transition::on(const event::SpawnFailed& e) {
  for (int rank = e.rank; rank < e.end; ++rank) rank_of(rank).gone = true;
  if (is<stage::Killed>()) return check_all_gone();
  if (m_.group.is_healed && continue_without({{e.rank, e.error}})) return;
  if (is_failing()) return check_verdict();
  fail_start(e.error, e.rank, e.transient);
}

void Transition::on(const event::PhaseReached& e) {
  RankState& rank = rank_of(e.rank);
  if (is<stage::Killed>() || e.phase <= rank.phase) return;
  rank.phase = e.phase;
  if (e.phase == Phase::kHello) add(action::SendStart{e.rank});
  update_slowest();
}

void Transition::on(const event::DeadlinePassed& e) {
  if (e.attempt != m_.attempt) return;
  if (is<stage::Gathering>()) {
    return fail_growth(cat("the ranks were not back at their last commit within ",
                           m_.heal_limits.unwind_timeout_s, " s"));
  }
  if (is<stage::Unwinding>()) return give_up_heal();
  if (awaits_room()) return give_up_room();
  if (is<stage::Returning>()) return kill();  // the teardown took too long
  if (!is<stage::Starting>()) return;
  if (m_.group.is_healed && continue_without(late_ranks())) return;
  if (!is_failing()) fail_late_start();  // else VerdictDue will come
}

void Transition::request_resources(RunState state, std::optional<GroupError> error) {
  m_.stage = stage::Requesting{state, std::move(error)};
  add(action::RequestResources{m_.scaling.min_workers(), m_.scaling.max_workers()});
}

void Transition::begin_attempt(int num_workers) {
  RT_CHECK(num_workers >= m_.scaling.min_workers() && num_workers <= m_.scaling.max_workers());
  RT_CHECK(m_.group.ranks.empty());
  m_.stage = stage::Beginning{};
  m_.num_workers = num_workers;
  m_.group = {};
  add(action::BeginAttempt{.attempt = ++m_.attempt,
                           .num_workers = num_workers,
                           .first_index = m_.carried,
                           .carries = m_.carried.has_value()});
}

// Each phase has a deadline of its own. In the stages of a heal its deadline stays as it is.
void Transition::update_slowest() {
  const Phase slowest = slowest_phase(m_.group.ranks);
  if (slowest == m_.group.slowest) return;
  m_.group.slowest = slowest;
  if (is_failing() || !is<stage::Starting>()) return;
  if (slowest != Phase::kRunning) return add(action::SetDeadline{m_.start_timeout_s});
  m_.stage = stage::Running{};
  m_.group.ran = true;
  add(action::ClearDeadline{});
  set_resize_timer();
}

Transition::LateRanks Transition::late_ranks() {
  LateRanks out;
  for (int rank = 0; rank < static_cast<int>(m_.group.ranks.size()); ++rank) {
    if (rank_of(rank).phase < Phase::kRunning) out.emplace_back(rank, lateness(rank));
  }
  return out;
}

Error Transition::lateness(int rank) {
  const Phase phase = rank_of(rank).phase;
  RT_CHECK(phase < Phase::kRunning);
  const auto next = static_cast<Phase>(static_cast<int>(phase) + 1);
  return Error(Code::kTimeout,
               cat("rank ", rank, " did not reach '", phase_name(next), "' within ",
                   m_.start_timeout_s, " s: it is still at '", phase_name(phase), "'"));
}

void Transition::fail_late_start() {
  const std::vector<RankState>& ranks = m_.group.ranks;
  const auto late = std::ranges::min_element(ranks, {}, &RankState::phase);
  const int rank = static_cast<int>(late - ranks.begin());
  fail_start(lateness(rank), rank);
}

void Transition::fail_start(const Error& error, int rank, bool is_transient) {
  m_.group.error = controller_error(error, rank);
  m_.group.is_transient = is_transient;
  kill();
}

}  // namespace rtrain::decide
