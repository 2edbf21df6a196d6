// Carries out the actions of the machine, and checks whether each is allowed.
#include "tests/sim/worlds/run_world.h"

#include <algorithm>
#include <set>
#include <utility>

#include "host/base/text/text.h"
#include "tests/sim/event_code.h"

namespace rtrain::sim {
namespace {

bool is_from_outside_of_ranks(Code code) {
  return code == Code::kEnvironment || code == Code::kConfig;
}

}  // namespace

void RunWorld::act(const decide::action::RequestResources& a) {
  demand(!is_requesting_, "resources are asked for twice");
  demand(a.min_workers >= 1 && a.min_workers <= a.max_workers, "no number of workers fits");
  demand(!is_stopped_, "resources are asked for though the run was stopped");
  demand(!is_disk_full_, "resources are asked for though nothing can be recorded");
  demand(!is_resizing_ || !is_out_of_time_ || has_saved_,
         "a group that could not save goes on as if it had");
  is_resizing_ = is_asked_ = false;
  is_requesting_ = true;
}

void RunWorld::act(const decide::action::BeginAttempt& a) {
  demand(!a.carries || a.first_index, "a group goes on from a commit, and no report is its first");
  const bool is_heal = a.first_index.has_value() && !a.carries;
  is_asked_to_grow_ = false;
  demand(a.attempt == last_attempt_ + 1, "attempts are not counted one by one");
  demand(is_heal || num_alive() == 0, "2: an attempt begins while a process of the last one lives");
  demand(!begun_, "2: an attempt begins while the row of the last one is open");
  demand(!is_writing(Row::kBegin), "an attempt begins twice");
  demand(a.num_workers >= machine_.scaling.min_workers() &&
             a.num_workers <= machine_.scaling.max_workers(),
         "the group has a size that nobody asked for");
  demand(!is_heal || is_hindered() || a.num_workers <= num_kept(),
         "the row of a heal has more workers than the group will have");
  if (a.carries && !is_carrying_) next_index_ = 3 + last_attempt_;
  if (a.first_index)
    demand(*a.first_index == next_index_, "a group goes on from another report than its commit's");
  is_carrying_ = a.carries;
  last_attempt_ = a.attempt;
  writing_.push_back({Row::kBegin, a.attempt});
}

void RunWorld::act(const decide::action::SpawnGroup& a) {
  demand(has_resources_, "1: a group is spawned without resources");
  demand(begun_ == a.attempt, "1: a group is spawned before the row of its attempt is on disk");
  demand(num_alive() == 0, "2: a group is spawned while a process of the last one lives");
  demand(!is_stopped_, "a group is spawned though the run was stopped");
  demand(!is_disk_full_, "a group is spawned though nothing can be recorded");
  processes_.assign(static_cast<size_t>(a.num_workers), {});
  is_healing_ = were_all_healable_ = false;
  is_asked_ = is_stop_seen_ = is_to_end_ = false;
}

void RunWorld::act(const decide::action::SendStart& a) {
  demand(!process(a.rank).is_started, "a rank is started twice");
  process(a.rank).is_started = true;
}

void RunWorld::act(const decide::action::AskToStop&) {
  demand(std::ranges::none_of(processes_, [](const Process& it) { return it.is_told_lost; }),
         "a group is asked to stop that waits for a lost rank");
  demand(num_alive() > 0, "nobody is there who could stop");
  demand(begun_ == machine_.attempt, "a group is asked to stop whose row is not open");
  has_saved_ = has_saved_ && is_asked_;  // counts since the first request
  is_asked_ = true;
  is_out_of_time_ = false;
}

void RunWorld::act(const decide::action::TellResize& a) {
  demand(a.to != a.from && a.to >= machine_.scaling.min_workers() &&
             a.to <= machine_.scaling.max_workers(),
         "a resize to a size that nobody asked for");
  is_resizing_ = true;
  is_growing_ = a.to > a.from;
  mark("resized");
}

void RunWorld::act(const decide::action::AskToGrow& a) {
  demand(num_alive() > 0, "nobody is there who could grow");
  const auto holds = [](const Process& it) { return it.is_alive && it.is_healable; };
  demand(!a.is_in_place || (!is_healing_ && std::ranges::all_of(processes_, holds)),
         "virtual ranks are moved between ranks of which one holds no commit");
  is_asked_to_grow_ = a.is;
  is_asked_in_place_ = a.is_in_place;
  is_resizing_ = is_out_of_time_ = false;  // the grace period does not run
}

void RunWorld::act(const decide::action::DropCarried&) {
  demand(std::ranges::all_of(processes_, [](const Process& it) { return it.is_healable; }),
         "a commit is dropped that not all ranks hold");
  demand(machine_.group.verdict == decide::Verdict::kNone,
         "a commit is dropped that the next attempt may need");
  demand(std::exchange(is_carrying_, false), "a commit is dropped that there is not");
  mark("grew at a commit");
}

// Notes that all ranks hold a commit at the same time. The event of a rank that leaves
// train.elastic resets it.
void RunWorld::note_healable() {
  const auto holds = [](const Process& it) { return it.is_healable && it.is_alive; };
  were_all_healable_ =
      were_all_healable_ || (!processes_.empty() && std::ranges::all_of(processes_, holds));
}

// Whether nothing from outside affects the group's future.
bool RunWorld::is_undisturbed() const {
  return !machine_.stop && !is_disk_full_ && num_heals_ < 15 && !is_asked_to_grow_;
}

// Whether the machine's header allows a heal: the others hold a commit, and the rank's node lives.
bool RunWorld::may_be_healed(int lost) const {
  const int most = machine_.heal_limits.max_heals;
  const bool is_left = most < 0 || machine_.num_heals < most;
  if (!were_all_healable_ || !is_left || is_healing_ || !is_undisturbed()) return false;
  if (!process(lost).is_kept()) return false;
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    const Process& it = process(rank);
    const bool is_whole = it.is_alive && !it.is_dying && it.is_healable && !it.has_raised &&
                          !it.is_killed && !it.has_returned;
    if (rank != lost && !is_whole) return false;
  }
  return !process(lost).has_raised && processes_.size() > 1;
}

// The number of ranks that live or can be replaced.
int RunWorld::num_kept() const {
  return static_cast<int>(std::ranges::count_if(processes_, &Process::is_kept));
}

// Whether something has happened after which a heal is given up.
bool RunWorld::is_hindered() const {
  const int least = machine_.group.can_shrink ? machine_.scaling.min_workers()
                                              : static_cast<int>(processes_.size());
  const auto is_unable = [](const Process& it) {
    return it.has_raised || (it.has_returned && it.is_alive && !it.is_dying);
  };
  return num_lost() == static_cast<int>(processes_.size()) || num_kept() < least ||
         std::ranges::any_of(processes_, is_unable);
}

// Whether all living ranks have gone back to the same step, and all others can be replaced.
bool RunWorld::are_all_back() const {
  std::set<int64_t> steps;
  for (const Process& it : processes_) {
    if (it.has_raised || it.has_returned || it.is_dying || it.is_killed) return false;
    if (!it.is_kept()) return false;
    if (it.is_alive) steps.insert(it.unwound_step.value_or(-1));
  }
  return steps.size() == 1 && *steps.begin() > 0;
}

void RunWorld::act(const decide::action::TellDeath& a) {
  demand(a.effect != decide::DeathEffect::kEnds || !may_be_healed(a.rank),
         "a group is ended that could be healed");
  demand(!process(a.rank).is_alive || process(a.rank).is_dying,
         "a rank that lives is reported dead");
  process(a.rank).is_left_out = a.effect == decide::DeathEffect::kLeftOut;
}

void RunWorld::act(const decide::action::TellLeftOut& a) {
  demand(a.rank < static_cast<int>(processes_.size()), "a rank is left out that there is not");
  process(a.rank).may_have_error = process(a.rank).is_left_out = true;
  mark("went on without a rank");
}

void RunWorld::act(const decide::action::Unwind& a) {
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    if (rank != a.rank) process(rank).is_told_lost = true;
  }
}

// A slow rank is ended where the others can go on without it.
void RunWorld::act(const decide::action::KillRank& a) {
  Process& ended = process(a.rank);
  if (slow_rank_ == a.rank) {
    demand(given_up_.insert(a.rank).second, "a slow rank is given up a second time");
    demand(were_all_healable_ && ended.is_healable && !machine_.stop,
           "a slow rank is ended, and the others cannot go on");
    demand(processes_.size() > 1, "the only rank is ended since it is slow");
    mark("gave a slow rank up");
  }
  ended.is_killed = ended.may_have_error = true;
}

void RunWorld::act(const decide::action::EndHealed& a) {
  const bool is_in_place = num_lost() == 0;
  demand(!is_in_place || is_asked_in_place_, "a group is taken over though no rank is lost");
  if (is_in_place) mark("shared in another way");
  if (!std::exchange(is_healing_, true) && !is_in_place) ++num_fresh_heals_;
  demand(machine_.heal_limits.max_heals < 0 || num_fresh_heals_ <= machine_.heal_limits.max_heals,
         "a group is healed more often than it may be");
  std::set<int64_t> steps;
  for (const Process& each : processes_) {
    if (each.is_alive) steps.insert(each.unwound_step.value_or(0));
  }
  demand(steps.size() == 1 && *steps.begin() > 0, "ranks go on that have gone back to other steps");
  next_index_ = 3 + last_attempt_;
  demand(a.next_index == next_index_, "a heal goes on from another report than its commit's");
  demand(begun_.has_value(), "a row is closed that is not open");
  writing_.push_back({Row::kHealed, machine_.attempt});
}

void RunWorld::act(const decide::action::HealGroup& a) {
  demand(!is_to_end_, "a group is healed that was to end");
  demand(begun_ == a.attempt, "1: a group is healed before the row of its attempt is on disk");
  demand(std::ranges::is_sorted(a.kept) && std::ranges::adjacent_find(a.kept) == a.kept.end(),
         "a heal keeps a rank twice");
  demand(static_cast<int>(a.kept.size()) >= machine_.scaling.min_workers(),
         "a heal keeps too few ranks");
  const std::set<int> kept(a.kept.begin(), a.kept.end());
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    demand(kept.contains(rank) || !process(rank).is_alive,
           "a heal leaves a process out that lives");
  }
  demand(a.moved.empty() || has_room_, "ranks move, and no node has room for them");
  demand(a.moved.empty() || a.moved == wanted_room_, "other ranks move than there is room for");
  for (const int rank : a.lost) {
    const bool moves = std::ranges::find(a.moved, rank) != a.moved.end();
    demand(process(a.kept.at(static_cast<size_t>(rank))).has_host != moves,
           "a rank moves whose node lives, or stays on a lost one");
  }
  if (!a.moved.empty()) mark("moved to another node");
  wanted_room_.clear();
  std::vector<Process> next;
  for (const int rank : a.kept) {
    demand(process(rank).is_kept(), "a rank is replaced that cannot be, or was to be left out");
    next.push_back(process(rank));
  }
  processes_ = std::move(next);
  for (const int rank : a.lost) {
    demand(!process(rank).is_alive, "a heal replaces a process that lives");
    process(rank) = {};
  }
  for (Process& each : processes_) {
    demand(each.is_alive, "a heal keeps a process that is gone");
    each.is_told_lost = each.is_unwound = each.may_have_error = false;
    each.error_s.reset();
    each.unwound_s.reset();
    each.unwound_step.reset();
    each.is_healable = each.phase == decide::Phase::kRunning;
  }
  is_asked_to_grow_ = is_asked_in_place_ = false;
  demand(++num_heals_ <= kMostCalm, "heals never end");
}

void RunWorld::act(const decide::action::FindRoom& a) {
  demand(!a.ranks.empty() && begun_ == machine_.attempt, "a node is looked for that nobody needs");
  for (const int rank : a.ranks) {
    const Process& it = process(rank);
    demand(!it.is_alive && !it.has_host && it.can_move, "a rank is to move that stays, or cannot");
  }
  wanted_room_ = a.ranks;
  has_room_ = false;
}

void RunWorld::act(const decide::action::TellNoRoom& a) {
  demand(!has_room_ && a.ranks == wanted_room_, "there is room, and it is not used");
  mark("found no room");
}

void RunWorld::act(const decide::action::SetDeadline& a) {
  deadline_ = machine_.attempt;
  deadline_s_ = a.seconds;
}

void RunWorld::act(const decide::action::KeepSpares& a) {
  demand(a.are || keeps_spares_, "spares are ended that were not asked for");
  keeps_spares_ = a.are;
  if (!a.are) return;
  demand(!is_asked_ && !is_to_end_, "spares are made for a group that ends");
  for (const Process& each : processes_) {
    demand(each.is_healable, "spares are made before all ranks hold a commit");
  }
  mark("keeps spares");
}

void RunWorld::act(const decide::action::TellHealed&) {
  demand(machine_.group.verdict == decide::Verdict::kNone,
         "a group is called healed in which a rank has failed");
  is_healing_ = false;
  mark("healed");
}

void RunWorld::act(const decide::action::SendExit&) {
  demand(!keeps_spares_, "a spare outlives the group");
  for (Process& each : processes_) {
    each.is_told_exit = true;
    each.is_stuck = faults_.stick && draws_.chance(0.1);
  }
}

void RunWorld::act(const decide::action::KillGroup&) {
  const bool is_back = is_unwinding_ && are_all_back() && is_undisturbed();
  demand(!is_back, "a heal is given up though all ranks are back at one step");
  keeps_spares_ = false;
  wanted_room_.clear();
  for (Process& each : processes_) each.is_killed = true;
}

void RunWorld::act(const decide::action::EndAttempt& a) {
  demand(num_alive() == 0, "2: an attempt ends while a process lives");
  demand(!is_writing(Row::kEnd), "an attempt ends twice");
  demand(begun_ == machine_.attempt, "an attempt ends whose row is not open");
  demand(a.status >= decide::RunState::kErrored, "an attempt ends in a state that is not an end");
  demand((a.status == decide::RunState::kFinished) == !a.error,
         "an attempt ends with an error and without one");
  if (a.error) check_cause(*a.error);
  const bool is_complete =
      !processes_.empty() &&
      std::ranges::all_of(processes_, [](const Process& it) { return it.has_returned; });
  const bool is_by_ranks = !a.error || a.status == decide::RunState::kAborted;
  demand(!is_complete || is_stop_seen_ || !is_by_ranks || a.status == decide::RunState::kFinished,
         "a train function has returned on all ranks, and counts as stopped");
  const auto died = [](const Process& it) { return it.has_died; };
  if (a.error && a.status == decide::RunState::kErrored &&
      a.error->kind == decide::FailureKind::kWorkerGroup &&
      a.error->cause.code() == Code::kWorkerLost)
    demand(!is_stopped_ || std::ranges::none_of(processes_, died) || is_terminated_,
           "a rank that went with what stops the run has failed");
  ended_with_ = a.status == decide::RunState::kErrored ? a.error : std::nullopt;
  writing_.push_back({Row::kEnd, machine_.attempt});
}

void RunWorld::check_cause(const decide::GroupError& error) {
  const bool is_peer_lost = error.cause.code() == Code::kPeerLost;
  demand(error.cause.code() != Code::kInternal, "an attempt fails for no reason");
  for (const auto& [rank, each] : error.ranks) {
    demand(!is_peer_lost || each.code() == Code::kPeerLost,
           "3: peer_lost is the cause though a rank has another error");
    demand(process(rank).may_have_error, "a rank that was ended with the others has an error");
  }
  const auto said = error.ranks.find(error.rank);
  if (said == error.ranks.end() || said->second.message() != error.cause.message()) return;
  const Process& first = process(error.rank);
  if (error.cause.code() == Code::kWorkerLost && error.kind != decide::FailureKind::kPreemption)
    demand(
        (error.kind == decide::FailureKind::kController) == (first.phase < decide::Phase::kRunning),
        "a death before the train function is charged to the ranks, or one after it is not");
  for (const auto& [rank, each] : error.ranks) {
    const std::optional<double> time_s = process(rank).said_s();
    if (is_peer_lost != (each.code() == Code::kPeerLost) || !time_s) continue;
    if (!first.said_s() || error.kind == decide::FailureKind::kPreemption) continue;
    demand(*first.said_s() <= *time_s, "the cause is an error that came later");
  }
}

void RunWorld::act(const decide::action::TellFailure& a) {
  is_resizing_ = false;
  if (!a.decision.retry) return;
  is_asked_ = false;
  ended_with_.reset();
  const std::map<decide::FailureKind, int> limits = {
      {decide::FailureKind::kWorkerGroup, limits_.max_failures},
      {decide::FailureKind::kController, limits_.controller_failure_limit},
      {decide::FailureKind::kPreemption, limits_.max_preemption_failures}};
  const int limit = limits.at(a.error.kind);
  demand(limit < 0 || retries_[a.error.kind] < limit, "a failure is tried again beyond its budget");
  mark(cat("tried again after ", decide::error_kind_name(a.error.kind)));
  ++retries_[a.error.kind];
}

void RunWorld::act(const decide::action::EndRun& a) {
  demand(num_alive() == 0, "the run ends while a process lives");
  demand(!is_writing(Row::kRun), "the run ends twice");
  demand(!begun_, "the run ends while the row of an attempt is open");
  demand(a.status >= decide::RunState::kErrored, "the run ends in a state that is not an end");
  demand(a.status != decide::RunState::kAborted || is_stopped_ || is_terminated_,
         "a run is aborted that nobody stopped");
  demand(a.status != decide::RunState::kPreempted || is_terminated_,
         "a run is preempted that nobody terminated");
  const bool has_budget = limits_.max_preemption_failures < 0 && machine_.stop &&
                          machine_.stop->kind == decide::StopKind::kTerminate && is_asked_;
  demand(a.status != decide::RunState::kAborted || !has_saved_ || !has_budget,
         "a run that was terminated and has saved is not worth another start");
  demand(a.status != decide::RunState::kPreempted || has_saved_,
         "a run is preempted that has not saved");
  is_requesting_ = false;
  is_run_ending_ = true;
  writing_.push_back({Row::kRun, 0});
}

void RunWorld::act(const decide::action::Finish& a) {
  demand(!is_finished_, "the run finishes twice");
  demand(num_alive() == 0, "the run finishes while a process lives");
  demand(a.status == machine_.state(), "the run finishes in another state than its machine");
  demand((a.status == decide::RunState::kErrored) <= a.error.has_value(),
         "the run has an error that nobody knows");
  demand(!machine_.storage_error || a.error, "a run that lost its storage ends without an error");
  is_finished_ = true;
}

// Checks the invariants that hold between any two events.
void RunWorld::check_machine() const {
  const decide::Machine& m = machine_;
  const std::vector<decide::RankState>& ranks = m.group.ranks;
  if (!ranks.empty())
    demand(ranks.size() == processes_.size(), "the machine has more or fewer ranks than the group");
  demand(!decide::is_any<decide::stage::Closing>(m.stage) || num_alive() == 0,
         "an attempt is ending while a process lives");
  demand(decide::is_any<decide::stage::Requesting>(m.stage) == is_requesting_,
         "the machine waits for resources that nobody looks for");
  if (decide::is_any<decide::stage::Killed>(m.stage) || ranks.empty()) return;
  const bool is_stopped = m.stop && m.stop->kind != decide::StopKind::kPredicate;
  demand(wanted_room_.empty() || has_room_ || !is_stopped || deadline_s_ == 0,
         "a run that is to stop waits for a node");
  const auto has_said = [](const Process& it) {
    return !it.is_alive || it.has_raised || it.has_returned;
  };
  const bool is_writing =
      decide::is_any<decide::stage::Recording, decide::stage::Reopening>(m.stage);
  demand(m.group.verdict == decide::Verdict::kNone || !has_just_raised_ || is_writing ||
             !std::ranges::all_of(processes_, has_said),
         "a verdict is waited for though all ranks have said what they know");
  const auto is_waiting = [](const Process& it) {
    return it.is_alive && it.phase >= decide::Phase::kHello && !it.is_started;
  };
  demand(std::ranges::none_of(processes_, is_waiting), "a rank is there and is not started");
  const bool has_returned = std::ranges::any_of(
      processes_, [](const Process& it) { return it.is_alive && !it.is_dying && it.has_returned; });
  demand(
      !has_returned || !decide::is_any<decide::stage::Unwinding, decide::stage::Growing>(m.stage),
      "a heal or a growth waits for a rank that has returned");
}

void RunWorld::check_end() const {
  demand(writing_.empty(), "the run has ended, a row is still being written");
  demand(!is_requesting_, "the run has ended, resources are still asked for");
  if (machine_.state() == decide::RunState::kErrored && ended_with_ &&
      !is_from_outside_of_ranks(ended_with_->cause.code())) {
    demand(machine_.error()->cause.message() == ended_with_->cause.message(),
           "4: a failure that came first is not the run's error");
  }
}

}  // namespace rtrain::sim
