// When a failure ends the group, and which failure is the cause.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "host/base/text/text.h"
#include "host/decide/run/transition.h"

namespace rtrain::decide {
namespace {

// How long a failed group lives on, so that the other ranks can send their errors.
constexpr double kVerdictS = 0.5;

DeathEffect effect_of(const RankState& lost) {
  if (!lost.is_replaceable) return DeathEffect::kLeftOut;
  return lost.moves ? DeathEffect::kMoved : DeathEffect::kReplaced;
}

// Where no rank is lost, the error that ranks have gone back for counts as their own.
void say_why_back(std::vector<RankState>& ranks) {
  const auto is_lost = [](const RankState& r) { return r.died || r.dying_s; };
  if (std::ranges::any_of(ranks, is_lost)) return;
  for (RankState& rank : ranks) {
    if (!rank.unwound || rank.error) continue;
    rank.error = rank.unwound->error;
    rank.error_time_s = rank.unwound->time_s;
  }
}

// The stage's `kill_is_due`; null where the stage has none.
template <class AnyStage>
auto kill_flag(AnyStage& stage) {
  using Flag = std::conditional_t<std::is_const_v<AnyStage>, const bool, bool>;
  return std::visit(
      [](auto& it) -> Flag* {
        if constexpr (requires { it.kill_is_due; }) return &it.kill_is_due;
        return nullptr;
      },
      stage);
}

}  // namespace

void Transition::on(const event::Failed& e) {
  RankState& rank = rank_of(e.rank);
  if (rank.error) return;
  rank.error = e.error;
  rank.error_time_s = e.time_s;
  start_verdict();
}

// The rank counts as lost at once, without its status: the other ranks need not wait for that. A
// rank that has returned does not count as lost; its status in Gone says whether it is an error.
void Transition::on(const event::Dying& e) {
  RankState& rank = rank_of(e.rank);
  const bool over = is<stage::Killed, stage::Returning>();
  if (over || rank.is_lost() || rank.error) return;
  rank.dying_s = e.time_s;
  if (!rank.is_superfluous && !rank.returned) lose(e.rank);
}

void Transition::on(const event::Gone& e) {
  RankState& rank = rank_of(e.rank);
  rank.gone = true;
  if (!e.has_host) lose_host(rank, e.can_move);
  // The end of a process is expected when the controller has ended it, or when all ranks have
  // returned.
  const bool over = is<stage::Killed, stage::Returning>();
  const bool expected = over && !rank.dying_s;
  if (!expected && !rank.error) {
    rank.error = e.error;
    rank.died = true;
    rank.error_time_s = rank.dying_s.value_or(e.time_s);
    const bool is_known = rank.dying_s && !rank.returned;
    if (!over && !is_known && !rank.is_superfluous) lose(e.rank);
  }
  check_all_gone();
  check_unwound();
  if (is<stage::Replacing>()) add(action::LookAgain{});
}

void Transition::on(const event::VerdictDue& e) {
  if (e.attempt != m_.attempt || !is_failing()) return;
  if (m_.group.verdict == Verdict::kDue && may_be_loss()) {
    m_.group.verdict = Verdict::kAwaitsLoss;
    return add(action::SetVerdictTimer{m_.heal_limits.loss_timeout_s});
  }
  kill();
}

// This error comes before those of ranks, which are its consequences and have another budget.
void Transition::on(const event::NodeUnhealthy& e) {
  if (is<stage::Killed, stage::Returning>()) return;
  m_.group.error = GroupError{.cause = e.error, .rank = e.rank, .kind = e.kind, .ranks = {}};
  m_.group.is_transient = e.kind == FailureKind::kPreemption;  // another node may be able to
  kill();
}

// Nothing more can be recorded, so the run ends. Its error is this one, unless it had another error
// before.
void Transition::on(const event::StorageFailed& e) {
  if (m_.storage_error || is<stage::Over>()) return;
  m_.storage_error = controller_error(e.error);
  if (auto* ending = as<stage::Ending>()) {
    if (!ending->error) *ending = {RunState::kErrored, m_.storage_error};
    return;
  }
  if (is_between_attempts(m_.stage)) return end_without_storage();
  if (!is_failing() && !m_.error() && !m_.group.error) m_.group.error = m_.storage_error;
  if (!m_.group.ranks.empty()) kill();
}

void Transition::start_verdict() {
  if (is<stage::Killed>()) return;
  if (!is_failing()) {
    m_.group.verdict = Verdict::kDue;
    add(action::SetVerdictTimer{kVerdictS});
  }
  check_verdict();
}

void Transition::check_verdict() {
  RT_CHECK(is_failing());
  if (all_accounted_for(m_.group.ranks)) kill();
}

// A group of fixed size cannot continue without the rank, but with a process on another node.
void Transition::lose_host(RankState& rank, bool can_move) {
  rank.moves = can_move && !m_.scaling.is_elastic();
  rank.is_replaceable = rank.is_replaceable && rank.moves;
}

// A death ends or heals the group at once: an error that another rank still sends would be later
// than the death.
void Transition::lose(int rank) {
  check_barren(rank_of(rank));
  if (may_heal()) {
    add(action::TellDeath{rank, effect_of(rank_of(rank))});
    return heal(rank);
  }
  if (!is_failing()) m_.group.verdict = Verdict::kDue;
  add(action::TellDeath{rank, DeathEffect::kEnds, why_not_without(rank_of(rank))});
  kill();
}

// Why the others do not continue without this rank; empty where it could be replaced.
std::string Transition::why_not_without(const RankState& lost) const {
  if (!m_.group.can_replace || lost.is_replaceable) return "";
  if (!m_.scaling.is_elastic()) {
    return "its node is lost, and the state that it had for itself was too large for a copy on the "
           "first node";
  }
  for (const RankState& rank : m_.group.ranks) {
    if (!rank.fixed.empty()) {
      return cat("its node is lost and a smaller group is not possible: ", rank.fixed);
    }
  }
  if (num_kept(m_.group.ranks) >= least_workers()) return "";
  return cat("its node is lost and fewer than ", least_workers(),
             " workers, the least of num_workers, are left");
}

// Ends the group; where the rows of a heal are being written, only after that.
void Transition::kill() {
  if (bool* is_due = kill_flag(m_.stage)) {
    *is_due = true;
  } else if (has_group(m_.stage) && !is<stage::Killed>()) {
    end_group();
  }
}

bool Transition::is_kill_due() const {
  const bool* is_due = kill_flag(m_.stage);
  return is_due != nullptr && *is_due;
}

void Transition::end_group() {
  if (is_failing()) say_why_back(m_.group.ranks);
  m_.stage = stage::Killed{};
  add(action::ClearDeadline{});
  add(action::KillGroup{});
  check_all_gone();
}

void Transition::check_all_gone() {
  if (is<stage::Killed, stage::Returning>() && all_gone(m_.group.ranks)) end_attempt();
}

}  // namespace rtrain::decide
