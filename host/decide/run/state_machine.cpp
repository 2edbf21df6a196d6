#include "host/decide/run/state_machine.h"

#include "host/decide/run/transition.h"

namespace rtrain::decide {
namespace {

void check_stage(const Machine& m, const stage::Requesting&) { RT_CHECK(m.group.ranks.empty()); }

void check_stage(const Machine& m, const stage::Beginning&) { RT_CHECK(m.group.ranks.empty()); }

void check_stage(const Machine& m, const stage::Starting&) { RT_CHECK(!m.group.ranks.empty()); }

void check_stage(const Machine& m, const stage::Growing& growing) {
  const bool is_larger = m.scaling.is_elastic() && growing.to > m.num_workers;
  RT_CHECK((is_larger || growing.to == m.num_workers) && !m.stop);
}

void check_stage(const Machine& m, const stage::Stopping&) { RT_CHECK(m.stop && m.group.ran); }

void check_stage(const Machine&, const stage::Unwinding& unwinding) {
  RT_CHECK(unwinding.state == RunState::kScheduling || unwinding.state == RunState::kRunning);
}

void check_stage(const Machine& m, const stage::Returning&) {
  RT_CHECK(all_returned(m.group.ranks) && m.group.verdict == Verdict::kNone);
}

void check_stage(const Machine& m, const stage::Closing&) { RT_CHECK(all_gone(m.group.ranks)); }

void check_stage(const Machine& m, const stage::Ending&) { RT_CHECK(m.group.ranks.empty()); }

void check_stage(const Machine& m, const stage::Over& over) {
  RT_CHECK(m.group.ranks.empty() && is_end(over.outcome));
}

template <class Other>
void check_stage(const Machine&, const Other&) {}

// The invariants that hold before and after each event.
void check(const Machine& m) {
  const Group& group = m.group;
  RT_CHECK(m.num_workers <= m.scaling.max_workers());
  RT_CHECK(group.ranks.empty() || static_cast<int>(group.ranks.size()) >= m.num_workers);
  RT_CHECK(group.ranks.empty() || has_group(m.stage) || is_any<stage::Closing>(m.stage));
  RT_CHECK(!is_running(m.stage) || (group.ran && slowest_phase(group.ranks) == Phase::kRunning));
  RT_CHECK(!is_regrouping(m.stage) || !group.ranks.empty());
  RT_CHECK(!m.stop || m.stop->kind != StopKind::kResize || m.scaling.is_elastic());
  std::visit([&](const auto& stage) { check_stage(m, stage); }, m.stage);
}

// Whether this is an event of a rank whose attempt is over.
template <class E>
bool is_late(const Machine& machine, const E& event) {
  if constexpr (requires { event.rank; }) {
    return !has_group(machine.stage) ||
           static_cast<size_t>(event.rank) >= machine.group.ranks.size();
  }
  return false;
}

}  // namespace

RunState Machine::state() const {
  return state_of(stage, stop && stop->kind == StopKind::kTerminate);
}

bool Machine::has_cause() const {
  return group.verdict != Verdict::kNone || group.error || error_of(stage);
}

Step step(Machine machine, const Event& event) {
  if (std::visit([&](const auto& e) { return is_late(machine, e); }, event)) {
    return {std::move(machine), {}};
  }
  check(machine);
  Transition transition(std::move(machine));
  std::visit([&](const auto& e) { transition.on(e); }, event);
  Step next = transition.take();
  check(next.machine);
  return next;
}

}  // namespace rtrain::decide
