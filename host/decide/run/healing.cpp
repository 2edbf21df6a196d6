// How lost ranks are replaced, or left out, while the others live.
#include <algorithm>

#include "host/decide/run/transition.h"

namespace rtrain::decide {
namespace {

// The most heals without a moment at which all ranks hold the state. After these a process that
// dies again is not replaced any more.
constexpr int kMaxBarrenHeals = 20;

RankState surviving(const RankState& before) {
  RankState out;
  out.phase = Phase::kRunning;
  out.healable = true;
  out.fixed = before.fixed;
  return out;
}

}  // namespace

void Transition::on(const event::Healable& e) {
  RankState& rank = rank_of(e.rank);
  rank.healable = e.is;
  rank.fixed = e.fixed;
  if (!e.is) {
    m_.group.can_replace = false;
    keep_spares(false);
    stop_growing();
  }
  // The message comes too late during a heal, and while the group is being ended.
  Group& group = m_.group;
  if (is_regrouping(m_.stage) || is<stage::Killed>()) return;
  if (!all_healable(group.ranks)) return;
  group.can_replace = m_.heal_limits.max_heals != 0;
  group.can_shrink = m_.scaling.is_elastic() && std::ranges::all_of(group.ranks, [](const auto& r) {
                       return r.fixed.empty();
                     });
  // Another rank, whose messages were read before, has gone back already: a loss is still to come.
  if (is_failing()) return;
  m_.barren_heals = 0;
  for (RankState& each : group.ranks) each.unwound.reset();
  const bool was_healed = std::exchange(group.is_healed, false);
  if (was_healed) add(action::TellHealed{});
  if (std::exchange(m_.carried, std::nullopt)) add(action::DropCarried{});
  if (was_healed && m_.stop && may_ask()) return ask_to_stop(*m_.stop);
  keep_spares(group.can_replace && has_heals_left() && !m_.stop);
}

void Transition::keep_spares(bool are) {
  const bool were = std::exchange(m_.group.keeps_spares, are);
  if (are || were) add(action::KeepSpares{are});
}

// A rank may learn of a death before the controller does: then a verdict is due.
void Transition::on(const event::Unwound& e) {
  rank_of(e.rank).unwound = e.unwinding;
  if (is<stage::Killed>()) return;
  const bool may_grow = is<stage::Growing>() && m_.group.can_replace && !is_failing();
  if (!is_regrouping(m_.stage) && !may_grow) return start_verdict();
  if (may_grow) gather(e.rank);
  check_unwound();
}

void Transition::on(const event::HealDue& e) {
  if (is<stage::Replacing>() && e.attempt == m_.attempt) heal_group();
}

void Transition::on(const event::RoomFound& e) {
  auto* replacing = as<stage::Replacing>();
  if (replacing == nullptr || e.attempt != m_.attempt || e.ranks != replacing->moving) return;
  replacing->has_room = true;
  heal_group();
}

int Transition::least_workers() const {
  return m_.group.can_shrink ? m_.scaling.min_workers() : static_cast<int>(m_.group.ranks.size());
}

bool Transition::can_heal() const { return decide::can_heal(m_.group.ranks, least_workers()); }

bool Transition::has_heals_left() const {
  return m_.heal_limits.max_heals < 0 || m_.num_heals < m_.heal_limits.max_heals;
}

// A run that is being stopped is not healed: it ends with its last checkpoint.
bool Transition::may_heal() const {
  const bool is_counted = is_healing() && !is<stage::Gathering>();
  const bool is_left = has_heals_left() || is_counted;
  const bool is_stopping = m_.stop && !is_healing();
  return m_.group.can_replace && is_left && !is_stopping && !m_.storage_error && !is_kill_due() &&
         m_.barren_heals < kMaxBarrenHeals && can_heal();
}

// The process ends as if it had died. Its successor may be slow too: it keeps its place.
void Transition::on(const event::RankSlow& e) {
  if (!is<stage::Running>() || m_.stop || m_.given_up.contains(e.rank)) return;
  RankState& rank = rank_of(e.rank);
  const RankState before = rank;
  rank.gone = true;
  const bool can_go_on = before.healable && may_heal();
  rank = before;
  if (!can_go_on) return;
  m_.given_up.insert(e.rank);
  add(action::KillRank{e.rank});
}

// Whether a node may be lost: some of the ranks send nothing, and the others have gone back.
bool Transition::may_be_loss() const {
  const auto is_silent = [](const RankState& r) {
    return !r.unwound && !r.error && !r.returned && !r.is_lost();
  };
  return m_.heal_limits.loss_timeout_s > 0 && may_heal() &&
         std::ranges::any_of(m_.group.ranks, is_silent);
}

// After too many heals in vain a rank is not replaced any more, where the group can be smaller.
void Transition::check_barren(RankState& rank) {
  if (!m_.group.is_healed || rank.healable || !m_.group.can_shrink) return;
  if (m_.barren_heals < kMaxBarrenHeals) return;
  rank.is_replaceable = false;
  m_.barren_heals = 0;
}

// Leaves out ranks whose places no worker could take in a heal, with the reasons. Returns false
// where the group cannot continue without them.
bool Transition::continue_without(const LateRanks& ranks) {
  for (const auto& [rank, error] : ranks) rank_of(rank).is_replaceable = false;
  if (ranks.empty() || !may_heal()) {
    for (const auto& [rank, error] : ranks) rank_of(rank).is_replaceable = true;
    return false;
  }
  for (const auto& [rank, error] : ranks) {
    rank_of(rank).error = error;
    rank_of(rank).died = true;
    add(action::TellLeftOut{rank, error});
  }
  heal(ranks.front().first);
  check_unwound();
  return true;
}

// Ranks that are lost before the others are back at their last commit join the same heal. A new
// process that does not hold the state yet has no commit to go back to, and is ended.
void Transition::heal(int lost) {
  m_.group.verdict = Verdict::kNone;
  if (!is_regrouping(m_.stage) || is<stage::Gathering>()) {
    m_.stage = stage::Unwinding{m_.state()};
    ++m_.num_heals;
    ++m_.barren_heals;
    add(action::SetDeadline{m_.heal_limits.unwind_timeout_s});
  }
  if (is<stage::Unwinding>()) add(action::Unwind{lost});
  for (size_t i = 0; i < m_.group.ranks.size(); ++i) {
    RankState& rank = m_.group.ranks[i];
    if (rank.is_lost() || rank.healable || rank.is_superfluous) continue;
    rank.is_superfluous = true;
    add(action::KillRank{static_cast<int>(i)});
  }
}

void Transition::check_unwound() {
  if (!is<stage::Unwinding, stage::Gathering>()) return;
  const auto is_awaited = [](const RankState& r) {
    return !r.gone && (!r.unwound || r.dying_s || r.is_superfluous);
  };
  if (std::ranges::any_of(m_.group.ranks, is_awaited)) return;
  if (!is<stage::Gathering>()) return record_heal();
  as<stage::Gathering>()->to == m_.num_workers ? go_on_in_place() : begin_larger_group();
}

void Transition::record_heal() {
  const Unwinding* step = step_of(m_.group.ranks);
  if (step == nullptr || !can_heal()) return give_up_heal();
  m_.stage = stage::Recording{.next_index = step->index};
  add(action::ClearDeadline{});
  add(action::EndHealed{first_cause(m_.group.ranks), step->index});
}

// Where the group cannot be healed any more, heal_group() gives up.
void Transition::reopen(const stage::Recording& recorded) {
  m_.stage = stage::Reopening{recorded.kill_is_due};
  if (can_heal()) m_.num_workers = num_kept(m_.group.ranks);
  add(action::BeginAttempt{++m_.attempt, m_.num_workers, recorded.next_index});
}

void Transition::replace_lost() {
  if (is_kill_due() || m_.storage_error) return give_up_heal();
  m_.stage = stage::Replacing{};
  heal_group();
}

// Gives up where a node was lost after the row was written: the row says one worker more.
void Transition::heal_group() {
  std::vector<RankState>& before = m_.group.ranks;
  if (!can_heal() || num_kept(before) != m_.num_workers) return give_up_heal();
  const auto is_dying = [](const RankState& r) { return r.is_lost() && !r.gone; };
  if (std::ranges::any_of(before, is_dying)) return;
  if (!has_room()) return find_room();
  action::HealGroup next{m_.attempt, {}, {}};
  std::vector<RankState> ranks;
  for (size_t i = 0; i < before.size(); ++i) {
    if (!before[i].is_replaceable) continue;
    next.kept.push_back(static_cast<int>(i));
    if (before[i].gone) next.lost.push_back(static_cast<int>(ranks.size()));
    if (before[i].moves) next.moved.push_back(static_cast<int>(ranks.size()));
    ranks.push_back(before[i].gone ? RankState{} : surviving(before[i]));
  }
  before = std::move(ranks);
  m_.stage = stage::Starting{};
  m_.group.is_healed = true;
  m_.group.slowest = Phase::kSpawn;
  add(std::move(next));
  add(action::SetDeadline{m_.start_timeout_s});
  update_slowest();
}

std::vector<int> Transition::moving() const {
  std::vector<int> out;
  for (size_t i = 0; i < m_.group.ranks.size(); ++i) {
    if (m_.group.ranks[i].moves) out.push_back(static_cast<int>(i));
  }
  return out;
}

// Whether each rank of a lost node has another node.
bool Transition::has_room() const {
  const auto& replacing = std::get<stage::Replacing>(m_.stage);
  const std::vector<int> ranks = moving();
  return ranks.empty() || (replacing.has_room && replacing.moving == ranks);
}

void Transition::find_room() {
  auto& replacing = std::get<stage::Replacing>(m_.stage);
  if (std::vector<int> ranks = moving(); replacing.moving != ranks) {
    replacing = {.moving = std::move(ranks)};
    add(action::FindRoom{replacing.moving});
    add(action::SetDeadline{is_stopped() ? 0 : m_.heal_limits.room_timeout_s});
  }
}

// Whether somebody asks for the end of the run: then nobody waits for a node.
bool Transition::is_stopped() const { return m_.stop && is_from_outside(m_.stop->kind); }

bool Transition::awaits_room() const {
  const auto* replacing = std::get_if<stage::Replacing>(&m_.stage);
  return replacing != nullptr && !replacing->moving.empty() && !has_room();
}

// When a node was lost since, the search begins again at the HealDue that follows.
void Transition::give_up_room() {
  if (std::get<stage::Replacing>(m_.stage).moving != moving()) return;
  add(action::TellNoRoom{moving()});
  give_up_heal();
}

// Ends the group, as without a heal. Where no rank was lost, what asks for the end is the cause.
void Transition::give_up_heal() {
  RT_CHECK(is_regrouping(m_.stage));
  const bool has_error =
      std::ranges::any_of(m_.group.ranks, [](const RankState& r) { return r.error.has_value(); });
  if (!is_failing() && (has_error || !(m_.stop || m_.storage_error))) {
    m_.group.verdict = Verdict::kDue;
  }
  end_group();
}

}  // namespace rtrain::decide
