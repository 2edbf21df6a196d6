#include "tests/sim/run_world.h"

#include <algorithm>
#include <set>
#include <utility>

#include "host/base/text/text.h"
#include "tests/sim/event_code.h"

namespace rtrain::sim {
namespace {

constexpr int kMostWild = 600;   // events with faults
constexpr int kMostCalm = 4000;  // events within which a run without new faults must end

bool is_from_outside_of_ranks(Code code) {
  return code == Code::kEnvironment || code == Code::kConfig;
}

// The draw 0 selects the default of each limit.
FailureLimits limits_from(Draws& draws) {
  return {.max_failures = draws.below(4),
          .controller_failure_limit = draws.below(4),
          .max_preemption_failures = draws.below(4) - 1,
          .reset_after_s = 0};
}

}  // namespace

Machine RunWorld::make_machine(Draws& draws, const FailureLimits& limits) {
  const int most = 1 + draws.below(3);
  const int least = most - draws.below(most);
  const ScalingPolicy scaling =
      draws.chance(0.5) ? ScalingPolicy::elastic(least, most, 60) : ScalingPolicy::fixed(most);
  const int max_heals = draws.chance(0.6) ? -1 : draws.below(4);
  const HealLimits heals{.max_heals = max_heals,
                         .unwind_timeout_s = 10,
                         .loss_timeout_s = draws.chance(0.5) ? 35.0 : 0};
  return Machine(scaling, FailurePolicy(limits, 1), 60, heals);
}

RunWorld::Faults RunWorld::make_faults(Draws& draws) {
  const auto may = [&draws] { return draws.chance(0.4); };
  Faults out;
  for (bool* each :
       {&out.raise, &out.die, &out.lose_host, &out.spawn, &out.refuse, &out.stop, &out.storage,
        &out.health, &out.leave_elastic, &out.deadline, &out.late, &out.disagree}) {
    *each = may();
  }
  return out;
}

RunWorld::RunWorld(Draws& draws)
    : draws_(draws),
      limits_(limits_from(draws)),
      machine_(make_machine(draws, limits_)),
      faults_(make_faults(draws)),
      is_elastic_script_(draws.chance(0.6)) {}

void RunWorld::live() {
  const int num_wild = draws_.below(kMostWild);
  const double rate = draws_.below(25) / 100.0;
  feed(event::Started{});
  for (int i = 0; i < num_wild && !is_finished_; ++i) {
    is_calm_ = !draws_.chance(rate);
    step_on();
  }
  is_calm_ = is_ending_ = true;
  for (int i = 0; i < kMostCalm && !is_finished_; ++i)
    demand(step_on(), "nothing can happen, and the run has not ended");
  demand(is_finished_, "the run does not end");
  check_end();
  feed(event::Gone{0, Error(Code::kWorkerLost, "late"), now_s_, true});
  feed(event::Returned{0});
  mark(cat("ended ", state_name(machine_.state())));
}

void RunWorld::feed(const Event& event) {
  tell([&] { return cat("d.feed(", to_code(event), ");"); });
  has_just_raised_ = std::holds_alternative<event::Failed>(event);
  is_unwinding_ = std::holds_alternative<event::Unwound>(event) &&
                  std::ranges::any_of(
                      processes_, [](const Process& it) { return it.is_told_lost && it.is_alive; });
  now_s_ += 1;
  note(event);
  const int attempt = machine_.attempt;
  const std::optional<StopProgress> stop = machine_.stop;
  Step next = step(std::move(machine_), event);
  machine_ = std::move(next.machine);
  check_late(event, attempt, next.actions);
  if (stop && machine_.stop && is_from_outside(stop->kind))
    demand(machine_.stop->kind == stop->kind, "of two orders from outside the later one holds");
  demand(!is_finished_ || next.actions.empty(), "5: an action comes after Finish");
  for (const Action& action : next.actions) std::visit([this](const auto& a) { act(a); }, action);
  check_machine();
}

void RunWorld::note(const Event& event) {
  if (std::holds_alternative<event::StorageFailed>(event)) is_disk_full_ = true;
  if (const auto* saved = std::get_if<event::CheckpointCommitted>(&event))
    has_saved_ = has_saved_ || saved->attempt == machine_.attempt;
  if (const auto* passed = std::get_if<event::GracePassed>(&event))
    is_out_of_time_ = is_out_of_time_ || passed->attempt == machine_.attempt;
  if (const auto* healable = std::get_if<event::Healable>(&event)) {
    note_healable();
    were_all_healable_ = were_all_healable_ && healable->is;
  }
  if (const auto* raised = std::get_if<event::Failed>(&event))
    note_error(raised->rank, raised->time_s);
  const auto* dying = std::get_if<event::Dying>(&event);
  if (dying != nullptr) note_error(dying->rank, dying->time_s);
  if (const auto* stop = std::get_if<event::StopRequested>(&event)) note_stop(stop->kind);
  if (const auto* stop = std::get_if<event::StopNow>(&event)) note_stop(stop->kind);
}

void RunWorld::note_error(int rank, double time_s) {
  if (rank >= static_cast<int>(processes_.size())) return;
  Process& it = process(rank);
  it.may_have_error = true;
  if (!it.error_s) it.error_s = time_s;
}

void RunWorld::note_stop(StopKind kind) {
  const bool is_done =
      begun_ && !processes_.empty() &&
      std::ranges::all_of(processes_, [](const Process& it) { return it.has_returned; }) &&
      !(machine_.stop && machine_.stop->seen);
  if (is_run_ending_) return;
  is_resizing_ = false;
  is_terminated_ = is_terminated_ || kind == StopKind::kTerminate;
  is_stopped_ = is_stopped_ || (is_from_outside(kind) && !is_done);
}

// Demands that an event of an earlier attempt has no effect.
void RunWorld::check_late(const Event& event, int attempt,
                          const std::vector<Action>& actions) const {
  const bool is_late = std::visit(
      [&](const auto& e) {
        if constexpr (requires { e.attempt; }) return e.attempt != attempt;
        return false;
      },
      event);
  demand(!is_late || actions.empty(), "6: something is done for an attempt that is over");
}

bool RunWorld::step_on() {
  const std::vector<Choice> found = choices();
  int total = 0;
  for (const Choice& choice : found) total += choice.weight;
  if (total == 0) return false;
  int at = draws_.below(total);
  for (const Choice& choice : found) {
    at -= choice.weight;
    if (at >= 0) continue;
    choice.happen();
    return true;
  }
  return false;
}

std::vector<RunWorld::Choice> RunWorld::choices() {
  std::vector<Choice> out;
  add_answers(out);
  add_ranks(out);
  add_stop(out);
  add_timers(out);
  if (!is_calm_ && faults_.late && machine_.attempt > 1) add_late_timers(out);
  if (!is_calm_) add_faults(out);
  return out;
}

// Adds the answers to the machine's requests.
void RunWorld::add_answers(std::vector<Choice>& out) {
  if (is_requesting_) {
    out.push_back({6, [this] {
                     is_requesting_ = false;
                     has_resources_ = true;
                     const int least = machine_.scaling.min_workers();
                     feed(event::ResourcesGranted{
                         least + draws_.below(machine_.scaling.max_workers() - least + 1)});
                   }});
  }
  if (!writing_.empty()) out.push_back({8, [this] { answer_row(); }});
}

void RunWorld::answer_row() {
  const Writing done = writing_.front();
  writing_.pop_front();
  if (!is_calm_ && faults_.storage && draws_.chance(0.1))
    feed(event::StorageFailed{Error(Code::kEnvironment, "disk is full")});
  switch (done.row) {
    case Row::kBegin:
      begun_ = done.attempt;
      return feed(event::AttemptBegun{});
    case Row::kEnd:
    case Row::kHealed:
      begun_.reset();
      return feed(event::AttemptEnded{draws_.chance(0.3), 1});
    case Row::kRun:
      return feed(event::RunEnded{});
  }
}

void RunWorld::add_ranks(std::vector<Choice>& out) {
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    if (process(rank).is_alive) add_rank(out, rank);
  }
}

void RunWorld::add_rank(std::vector<Choice>& out, int rank) {
  const Process& it = process(rank);
  if (it.is_killed || it.is_told_exit || it.is_dying || it.has_raised) {
    out.push_back({5, [this, rank] { end_process(rank, "its process has ended", true); }});
  }
  if (it.is_killed || it.is_dying || it.has_raised) return;
  if (it.phase == Phase::kSpawn || (it.is_started && it.phase < Phase::kRunning)) {
    out.push_back({6, [this, rank] {
                     Process& process = this->process(rank);
                     process.phase = static_cast<Phase>(static_cast<int>(process.phase) + 1);
                     feed(event::PhaseReached{rank, process.phase});
                   }});
  }
  if (it.phase == Phase::kRunning && !it.has_returned) add_train_function(out, rank);
  if (is_calm_) return;
  if (faults_.die) {
    out.push_back({1, [this, rank] {
                     process(rank).is_dying = true;
                     feed(event::Dying{rank, now_s_});
                   }});
    out.push_back({1, [this, rank] { end_process(rank, "killed", true); }});
  }
  if (faults_.lose_host)
    out.push_back({1, [this, rank] { end_process(rank, "its host is gone", false); }});
  if (!faults_.spawn || it.phase != Phase::kSpawn) return;
  out.push_back({1, [this, rank] {
                   process(rank).is_alive = false;
                   const Error error(Code::kEnvironment, "cannot start");
                   feed(event::SpawnFailed{error, rank, rank + 1, draws_.chance(0.5)});
                 }});
}

void RunWorld::add_train_function(std::vector<Choice>& out, int rank) {
  const Process& it = process(rank);
  // A rank may notice the loss of another rank before the machine does.
  const bool grows = is_asked_to_grow_ && rank == 0 && it.is_healable;
  const bool is_behind_first = is_asked_to_grow_ && it.is_healable && process(0).is_unwound;
  const bool sees_loss = (it.is_healable && num_lost() > 0) || grows || is_behind_first;
  if ((it.is_told_lost || sees_loss) && !it.is_unwound) {
    out.push_back({it.is_told_lost ? 6 : 1, [this, rank] {
                     Process& process = this->process(rank);
                     process.is_unwound = true;
                     process.is_healable = false;
                     process.may_have_error = true;
                     process.unwound_s = now_s_;
                     const bool is_other = !is_calm_ && faults_.disagree && draws_.chance(0.1);
                     process.unwound_step = 5 + last_attempt_ + (is_other ? 1 : 0);
                     const Unwinding back{.step = *process.unwound_step,
                                          .index = 3 + last_attempt_,
                                          .error = Error(Code::kPeerLost, "a peer is lost"),
                                          .time_s = now_s_};
                     feed(event::Unwound{rank, back});
                   }});
  }
  // Alternatively the rank leaves train.elastic when it hears of the loss.
  if (it.is_told_lost && it.is_healable && !it.is_unwound && faults_.leave_elastic && !is_calm_) {
    out.push_back({1, [this, rank] {
                     process(rank).is_told_lost = process(rank).is_healable = false;
                     feed(event::Healable{rank, false});
                   }});
  }
  if (!it.is_told_lost && !it.is_unwound) {
    if (is_ending_ || draws_.chance(0.02)) {
      out.push_back({4, [this, rank] {
                       process(rank).has_returned = true;
                       feed(event::Returned{rank});
                     }});
    }
    if (is_elastic_script_ && (!it.is_healable || (faults_.leave_elastic && !is_calm_))) {
      out.push_back({it.is_healable ? 1 : 5, [this, rank] {
                       Process& process = this->process(rank);
                       process.is_healable = !process.is_healable;
                       feed(event::Healable{rank, process.is_healable});
                     }});
    }
  }
  if (is_calm_ || !faults_.raise) return;
  out.push_back({1, [this, rank] {
                   process(rank).has_raised = true;
                   feed(event::Failed{rank, error_of_user(), now_s_});
                 }});
}

Error RunWorld::error_of_user() {
  constexpr std::array kCodes = {Code::kUser, Code::kPeerLost, Code::kConfig, Code::kOutOfMemory};
  const Code code = kCodes.at(static_cast<size_t>(draws_.below(kCodes.size())));
  return Error(code, cat("error ", draws_.below(3)));
}

void RunWorld::end_process(int rank, const char* why, bool has_host) {
  Process& it = process(rank);
  it.is_alive = false;
  it.has_host = has_host;
  const bool is_by_us = it.is_killed || it.is_told_exit;
  if (!is_by_us || it.is_dying) {
    note_error(rank, now_s_);
    it.has_died = !it.has_raised;
  }
  feed(event::Gone{rank, Error(Code::kWorkerLost, why), now_s_, has_host});
}

// A timer may fire after the end of its attempt. Without the fault `deadline`, a deadline passes
// only if nothing else can happen.
void RunWorld::add_timers(std::vector<Choice>& out) {
  const auto add = [&](int weight, std::optional<int>& timer, auto make) {
    if (!timer) return;
    out.push_back({weight, [this, &timer, make] {
                     const int attempt = *timer;
                     timer.reset();
                     feed(make(attempt));
                   }});
  };
  add(3, verdict_, [](int attempt) { return event::VerdictDue{attempt}; });
  add(4, retry_, [](int attempt) { return event::RetryDue{attempt}; });
  add(8, heal_due_, [](int attempt) { return event::HealDue{attempt}; });
  if (!is_calm_)
    add(1, resize_, [this](int attempt) {
      return event::ResourcesSeen{attempt, 1 + draws_.below(6)};
    });
  if (faults_.deadline || out.empty())
    add(1, deadline_, [](int attempt) { return event::DeadlinePassed{attempt}; });
}

// Adds timers and messages of ranks from the previous attempt.
void RunWorld::add_late_timers(std::vector<Choice>& out) {
  out.push_back({1, [this] {
                   const int attempt = machine_.attempt - 1;
                   switch (draws_.below(8)) {
                     case 0:
                       return feed(event::VerdictDue{attempt});
                     case 1:
                       return feed(event::DeadlinePassed{attempt});
                     case 2:
                       return feed(event::HealDue{attempt});
                     case 3:
                       return feed(event::RetryDue{attempt});
                     case 4:
                       return feed(event::GracePassed{attempt});
                     case 5:
                       return feed(event::StopComplete{attempt});
                     case 6:
                       return feed(event::CheckpointCommitted{attempt});
                     default:
                       return feed(event::ResourcesSeen{attempt, 1 + draws_.below(6)});
                   }
                 }});
}

// Adds what a group may do after it was asked to stop.
void RunWorld::add_stop(std::vector<Choice>& out) {
  if (!is_asked_ || num_alive() == 0) return;
  out.push_back({1, [this] { feed(event::StopSeen{}); }});
  out.push_back({1, [this] { feed(event::CheckpointCommitted{machine_.attempt}); }});
  if (has_saved_) out.push_back({1, [this] { feed(event::StopComplete{machine_.attempt}); }});
  // A group that only grows has no grace period.
  if (!is_resizing_ || !is_growing_) {
    out.push_back({1, [this] { feed(event::GracePassed{machine_.attempt}); }});
  }
}

void RunWorld::add_faults(std::vector<Choice>& out) {
  if (is_requesting_ && faults_.refuse) {
    out.push_back({1, [this] {
                     is_requesting_ = false;
                     feed(event::ResourcesRefused{Error(Code::kConfig, "more than there is")});
                   }});
  }
  if (faults_.stop && draws_.chance(0.3)) {
    out.push_back({1, [this] {
                     feed(event::StopRequested{static_cast<StopKind>(draws_.below(4)), "somebody"});
                   }});
  }
  if (faults_.stop && draws_.chance(0.1)) {
    out.push_back({1, [this] {
                     feed(event::StopNow{static_cast<StopKind>(draws_.below(3)), "somebody"});
                   }});
  }
  if (faults_.storage && draws_.chance(0.1)) {
    out.push_back(
        {1, [this] { feed(event::StorageFailed{Error(Code::kEnvironment, "disk is full")}); }});
  }
  if (num_alive() > 0 && faults_.health && draws_.chance(0.1)) {
    out.push_back(
        {1, [this] {
           const int rank = draws_.below(static_cast<int>(processes_.size()));
           const FailureKind kind =
               draws_.chance(0.5) ? FailureKind::kPreemption : FailureKind::kWorkerGroup;
           feed(event::NodeUnhealthy{rank, Error(Code::kEnvironment, "the host is bad"), kind});
         }});
  }
}

int RunWorld::num_alive() const {
  return static_cast<int>(
      std::ranges::count_if(processes_, [](const Process& it) { return it.is_alive; }));
}

int RunWorld::num_lost() const {
  return static_cast<int>(std::ranges::count_if(
      processes_, [](const Process& it) { return !it.is_alive || it.is_dying; }));
}

bool RunWorld::is_writing(Row row) const {
  return std::ranges::any_of(writing_, [row](const Writing& each) { return each.row == row; });
}

void RunWorld::act(const action::RequestResources& a) {
  demand(!is_requesting_, "resources are asked for twice");
  demand(a.min_workers >= 1 && a.min_workers <= a.max_workers, "no number of workers fits");
  demand(!is_stopped_, "resources are asked for though the run was stopped");
  demand(!is_disk_full_, "resources are asked for though nothing can be recorded");
  demand(!is_resizing_ || !is_out_of_time_ || has_saved_,
         "a group that could not save goes on as if it had");
  is_resizing_ = is_asked_ = false;
  is_requesting_ = true;
}

void RunWorld::act(const action::BeginAttempt& a) {
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
  if (a.carries && !is_carrying_) next_index_ = 3 + last_attempt_;
  if (a.first_index)
    demand(*a.first_index == next_index_, "a group goes on from another report than its commit's");
  is_carrying_ = a.carries;
  last_attempt_ = a.attempt;
  writing_.push_back({Row::kBegin, a.attempt});
}

void RunWorld::act(const action::SpawnGroup& a) {
  demand(has_resources_, "1: a group is spawned without resources");
  demand(begun_ == a.attempt, "1: a group is spawned before the row of its attempt is on disk");
  demand(num_alive() == 0, "2: a group is spawned while a process of the last one lives");
  demand(!is_stopped_, "a group is spawned though the run was stopped");
  demand(!is_disk_full_, "a group is spawned though nothing can be recorded");
  processes_.assign(static_cast<size_t>(a.num_workers), {});
  is_healing_ = were_all_healable_ = false;
  is_asked_ = false;
}

void RunWorld::act(const action::SendStart& a) {
  demand(!process(a.rank).is_started, "a rank is started twice");
  process(a.rank).is_started = true;
}

void RunWorld::act(const action::AskToStop&) {
  demand(std::ranges::none_of(processes_, [](const Process& it) { return it.is_told_lost; }),
         "a group is asked to stop that waits for a lost rank");
  demand(num_alive() > 0, "nobody is there who could stop");
  demand(begun_ == machine_.attempt, "a group is asked to stop whose row is not open");
  has_saved_ = has_saved_ && is_asked_;  // counts since the first request
  is_asked_ = true;
  is_out_of_time_ = false;
}

void RunWorld::act(const action::TellResize& a) {
  demand(a.to != a.from && a.to >= machine_.scaling.min_workers() &&
             a.to <= machine_.scaling.max_workers(),
         "a resize to a size that nobody asked for");
  is_resizing_ = true;
  is_growing_ = a.to > a.from;
  mark("resized");
}

void RunWorld::act(const action::AskToGrow& a) {
  demand(num_alive() > 0, "nobody is there who could grow");
  is_asked_to_grow_ = a.is;
  is_resizing_ = is_out_of_time_ = false;  // the grace period does not run
}

void RunWorld::act(const action::DropCarried&) {
  demand(std::ranges::all_of(processes_, [](const Process& it) { return it.is_healable; }),
         "a commit is dropped that not all ranks hold");
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

// Nothing from outside affects the group's future.
bool RunWorld::is_undisturbed() const {
  return !machine_.stop && !is_disk_full_ && num_heals_ < 15 && !is_asked_to_grow_;
}

// By the rules of the machine's header: the others hold a commit, and the rank's host is alive.
bool RunWorld::may_be_healed(int lost) const {
  const int most = machine_.heal_limits.max_heals;
  const bool is_left = most < 0 || machine_.num_heals < most;
  if (!were_all_healable_ || !is_left || is_healing_ || !is_undisturbed()) return false;
  if (!process(lost).has_host) return false;
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    const Process& it = process(rank);
    const bool is_whole = it.is_alive && !it.is_dying && it.is_healable && !it.has_raised &&
                          !it.is_killed && !it.has_returned;
    if (rank != lost && !is_whole) return false;
  }
  return !process(lost).has_raised && processes_.size() > 1;
}

// All living ranks have gone back to the same step, and all others can be replaced.
bool RunWorld::are_all_back() const {
  std::set<int64_t> steps;
  for (const Process& it : processes_) {
    if (it.has_raised || it.has_returned || it.is_dying || it.is_killed) return false;
    if (!it.is_alive && !it.has_host) return false;
    if (it.is_alive) steps.insert(it.unwound_step.value_or(-1));
  }
  return steps.size() == 1 && *steps.begin() > 0;
}

void RunWorld::act(const action::TellDeath& a) {
  demand(a.effect != DeathEffect::kEnds || !may_be_healed(a.rank),
         "a group is ended that could be healed");
  demand(!process(a.rank).is_alive || process(a.rank).is_dying,
         "a rank that lives is reported dead");
}

void RunWorld::act(const action::TellLeftOut& a) {
  demand(a.rank < static_cast<int>(processes_.size()), "a rank is left out that there is not");
  process(a.rank).may_have_error = true;
  mark("went on without a rank");
}

void RunWorld::act(const action::Unwind& a) {
  for (int rank = 0; rank < static_cast<int>(processes_.size()); ++rank) {
    if (rank != a.rank) process(rank).is_told_lost = true;
  }
}

void RunWorld::act(const action::EndHealed& a) {
  if (!std::exchange(is_healing_, true)) ++num_fresh_heals_;
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

void RunWorld::act(const action::HealGroup& a) {
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
  std::vector<Process> next;
  for (const int rank : a.kept) {
    demand(process(rank).is_alive || process(rank).has_host,
           "a rank is replaced on a host that is gone");
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
    each.is_healable = each.phase == Phase::kRunning;
  }
  demand(++num_heals_ <= kMostCalm, "heals never end");
}

void RunWorld::act(const action::TellHealed&) {
  is_healing_ = false;
  mark("healed");
}

void RunWorld::act(const action::SendExit&) {
  for (Process& each : processes_) each.is_told_exit = true;
}

void RunWorld::act(const action::KillGroup&) {
  const bool is_back = is_unwinding_ && are_all_back() && is_undisturbed();
  demand(!is_back, "a heal is given up though all ranks are back at one step");
  for (Process& each : processes_) each.is_killed = true;
}

void RunWorld::act(const action::EndAttempt& a) {
  demand(num_alive() == 0, "2: an attempt ends while a process lives");
  demand(!is_writing(Row::kEnd), "an attempt ends twice");
  demand(begun_ == machine_.attempt, "an attempt ends whose row is not open");
  demand(a.status >= RunState::kErrored, "an attempt ends in a state that is not an end");
  demand((a.status == RunState::kFinished) == !a.error,
         "an attempt ends with an error and without one");
  if (a.error) check_cause(*a.error);
  const auto died = [](const Process& it) { return it.has_died; };
  if (a.error && a.status == RunState::kErrored && a.error->kind == FailureKind::kWorkerGroup)
    demand(!is_stopped_ || std::ranges::none_of(processes_, died) || is_terminated_,
           "a rank that went with what stops the run has failed");
  ended_with_ = a.status == RunState::kErrored ? a.error : std::nullopt;
  writing_.push_back({Row::kEnd, machine_.attempt});
}

void RunWorld::check_cause(const GroupError& error) {
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
  if (error.cause.code() == Code::kWorkerLost && error.kind != FailureKind::kPreemption)
    demand((error.kind == FailureKind::kController) == (first.phase < Phase::kRunning),
           "a death before the train function is charged to the ranks, or one after it is not");
  for (const auto& [rank, each] : error.ranks) {
    const std::optional<double> time_s = process(rank).said_s();
    if (is_peer_lost != (each.code() == Code::kPeerLost) || !time_s) continue;
    if (!first.said_s() || error.kind == FailureKind::kPreemption) continue;
    demand(*first.said_s() <= *time_s, "the cause is an error that came later");
  }
}

void RunWorld::act(const action::TellFailure& a) {
  is_resizing_ = false;
  if (!a.decision.retry) return;
  is_asked_ = false;
  ended_with_.reset();
  const std::map<FailureKind, int> limits = {
      {FailureKind::kWorkerGroup, limits_.max_failures},
      {FailureKind::kController, limits_.controller_failure_limit},
      {FailureKind::kPreemption, limits_.max_preemption_failures}};
  const int limit = limits.at(a.error.kind);
  demand(limit < 0 || retries_[a.error.kind] < limit, "a failure is tried again beyond its budget");
  mark(cat("tried again after ", error_kind_name(a.error.kind)));
  ++retries_[a.error.kind];
}

void RunWorld::act(const action::EndRun& a) {
  demand(num_alive() == 0, "the run ends while a process lives");
  demand(!is_writing(Row::kRun), "the run ends twice");
  demand(!begun_, "the run ends while the row of an attempt is open");
  demand(a.status >= RunState::kErrored, "the run ends in a state that is not an end");
  demand(a.status != RunState::kAborted || is_stopped_ || is_terminated_,
         "a run is aborted that nobody stopped");
  demand(a.status != RunState::kPreempted || is_terminated_,
         "a run is preempted that nobody terminated");
  const bool has_budget = limits_.max_preemption_failures < 0 && machine_.stop &&
                          machine_.stop->kind == StopKind::kTerminate && is_asked_;
  demand(a.status != RunState::kAborted || !has_saved_ || !has_budget,
         "a run that was terminated and has saved is not worth another start");
  demand(a.status != RunState::kPreempted || has_saved_, "a run is preempted that has not saved");
  is_requesting_ = false;
  is_run_ending_ = true;
  writing_.push_back({Row::kRun, 0});
}

void RunWorld::act(const action::Finish& a) {
  demand(!is_finished_, "the run finishes twice");
  demand(num_alive() == 0, "the run finishes while a process lives");
  demand(a.status == machine_.state(), "the run finishes in another state than its machine");
  demand((a.status == RunState::kErrored) <= a.error.has_value(),
         "the run has an error that nobody knows");
  is_finished_ = true;
}

// Checks the invariants that hold between any two events.
void RunWorld::check_machine() const {
  const Machine& m = machine_;
  const std::vector<RankState>& ranks = m.group.ranks;
  if (!ranks.empty())
    demand(ranks.size() == processes_.size(), "the machine has more or fewer ranks than the group");
  demand(!is_any<stage::Closing>(m.stage) || num_alive() == 0,
         "an attempt is ending while a process lives");
  demand(is_any<stage::Requesting>(m.stage) == is_requesting_,
         "the machine waits for resources that nobody looks for");
  if (is_any<stage::Killed>(m.stage) || ranks.empty()) return;
  const auto has_said = [](const Process& it) {
    return !it.is_alive || it.has_raised || it.has_returned;
  };
  const bool is_writing = is_any<stage::Recording, stage::Reopening>(m.stage);
  demand(m.group.verdict == Verdict::kNone || !has_just_raised_ || is_writing ||
             !std::ranges::all_of(processes_, has_said),
         "a verdict is waited for though all ranks have said what they know");
  const auto is_waiting = [](const Process& it) {
    return it.is_alive && it.phase >= Phase::kHello && !it.is_started;
  };
  demand(std::ranges::none_of(processes_, is_waiting), "a rank is there and is not started");
  const bool all_hold =
      std::ranges::all_of(processes_, [](const Process& it) { return it.is_healable; });
  demand(!is_carrying_ || !all_hold || is_regrouping(m.stage) || m.group.verdict != Verdict::kNone,
         "all ranks hold the commit that they began with, and it stays on the disk");
}

void RunWorld::check_end() const {
  demand(writing_.empty(), "the run has ended, a row is still being written");
  demand(!is_requesting_, "the run has ended, resources are still asked for");
  if (machine_.state() == RunState::kErrored && ended_with_ &&
      !is_from_outside_of_ranks(ended_with_->cause.code())) {
    demand(machine_.error()->cause.message() == ended_with_->cause.message(),
           "4: a failure that came first is not the run's error");
  }
}

}  // namespace rtrain::sim
