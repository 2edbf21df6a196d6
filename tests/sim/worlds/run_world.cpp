#include "tests/sim/worlds/run_world.h"

#include <algorithm>
#include <set>
#include <utility>

#include "host/base/text/text.h"
#include "tests/sim/event_code.h"

namespace rtrain::sim {
namespace {

constexpr int kMostWild = 600;  // events with faults

// The draw 0 selects the default of each limit.
decide::FailureLimits limits_from(Draws& draws) {
  return {.max_failures = draws.below(4),
          .controller_failure_limit = draws.below(4),
          .max_preemption_failures = draws.below(4) - 1,
          .reset_after_s = 0};
}

// Whether somebody asks for it; otherwise the run's own condition, or another size.
bool is_asked_for(decide::StopKind kind) {
  return kind != decide::StopKind::kPredicate && kind != decide::StopKind::kResize;
}

}  // namespace

decide::Machine RunWorld::make_machine(Draws& draws, const decide::FailureLimits& limits) {
  const int most = 1 + draws.below(3);
  const int least = most - draws.below(most);
  const decide::ScalingPolicy scaling = draws.chance(0.65)
                                            ? decide::ScalingPolicy::elastic(least, most, 60)
                                            : decide::ScalingPolicy::fixed(most);
  const int max_heals = draws.chance(0.4) ? -1 : draws.chance(0.1) ? 0 : 1 + draws.below(2);
  const decide::HealLimits heals{.max_heals = max_heals,
                                 .unwind_timeout_s = 10,
                                 .loss_timeout_s = draws.chance(0.5) ? 35.0 : 0};
  return decide::Machine(scaling, decide::FailurePolicy(limits, 1), 60, heals);
}

RunWorld::Faults RunWorld::make_faults(Draws& draws) {
  const double rate = draws.chance(0.4) ? 0.15 : 0.4;
  const auto may = [&draws, rate] { return draws.chance(rate); };
  Faults out;
  for (bool* each : {&out.raise, &out.die, &out.lose_host, &out.spawn, &out.refuse, &out.stop,
                     &out.storage, &out.health, &out.leave_elastic, &out.deadline, &out.late,
                     &out.disagree, &out.stick, &out.no_room}) {
    *each = may();
  }
  return out;
}

RunWorld::RunWorld(Draws& draws)
    : draws_(draws),
      limits_(limits_from(draws)),
      machine_(make_machine(draws, limits_)),
      faults_(make_faults(draws)),
      is_elastic_script_(draws.chance(0.75)) {}

void RunWorld::live() {
  const int num_wild = draws_.below(kMostWild);
  const double rate = draws_.below(25) / 100.0;
  feed(decide::event::Started{});
  for (int i = 0; i < num_wild && !is_finished_; ++i) {
    is_calm_ = !draws_.chance(rate);
    step_on();
  }
  is_calm_ = is_ending_ = true;
  for (int i = 0; i < kMostCalm && !is_finished_; ++i)
    demand(step_on(), "nothing can happen, and the run has not ended");
  demand(is_finished_, "the run does not end");
  check_end();
  feed(decide::event::Gone{0, Error(Code::kWorkerLost, "late"), now_s_, true});
  feed(decide::event::Returned{0});
  mark(cat("ended ", decide::state_name(machine_.state())));
}

void RunWorld::feed(const decide::Event& event) {
  tell([&] { return cat("d.feed(", to_code(event), ");"); });
  has_just_raised_ = std::holds_alternative<decide::event::Failed>(event);
  is_unwinding_ = std::holds_alternative<decide::event::Unwound>(event) &&
                  std::ranges::any_of(
                      processes_, [](const Process& it) { return it.is_told_lost && it.is_alive; });
  now_s_ += 1;
  const auto* slow = std::get_if<decide::event::RankSlow>(&event);
  slow_rank_ = slow == nullptr ? std::nullopt : std::optional(slow->rank);
  note(event);
  const decide::Machine before = machine_;
  decide::Step next = decide::step(std::move(machine_), event);
  machine_ = std::move(next.machine);
  check_late(event, before.attempt, next.actions);
  demand(!is_finished_ || next.actions.empty(), "5: an action comes after Finish");
  for (const decide::Action& action : next.actions)
    std::visit([this](const auto& a) { act(a); }, action);
  check_step(event, before);
  check_machine();
}

void RunWorld::note(const decide::Event& event) {
  if (std::holds_alternative<decide::event::StorageFailed>(event)) is_disk_full_ = true;
  if (const auto* saved = std::get_if<decide::event::CheckpointCommitted>(&event))
    has_saved_ = has_saved_ || saved->attempt == machine_.attempt;
  // A group whose train functions have all returned has done what it was asked for in time.
  if (const auto* passed = std::get_if<decide::event::GracePassed>(&event)) {
    is_out_of_time_ =
        is_out_of_time_ ||
        (passed->attempt == machine_.attempt &&
         std::ranges::any_of(processes_, [](const Process& it) { return !it.has_returned; }));
  }
  if (const auto* healable = std::get_if<decide::event::Healable>(&event)) {
    note_healable();
    were_all_healable_ = were_all_healable_ && healable->is;
  }
  if (const auto* raised = std::get_if<decide::event::Failed>(&event))
    note_error(raised->rank, raised->time_s);
  const auto* dying = std::get_if<decide::event::Dying>(&event);
  if (dying != nullptr) note_error(dying->rank, dying->time_s);
  if (const auto* stop = std::get_if<decide::event::StopRequested>(&event)) note_stop(stop->kind);
  if (const auto* stop = std::get_if<decide::event::StopNow>(&event)) note_stop(stop->kind);
  is_stop_seen_ =
      is_stop_seen_ || (machine_.stop && std::holds_alternative<decide::event::StopSeen>(event));
  is_to_end_ =
      is_to_end_ || is_disk_full_ ||
      (decide::has_group(machine_.stage) && std::holds_alternative<decide::event::StopNow>(event));
}

void RunWorld::note_error(int rank, double time_s) {
  if (rank >= static_cast<int>(processes_.size())) return;
  Process& it = process(rank);
  it.may_have_error = true;
  if (!it.error_s) it.error_s = time_s;
}

void RunWorld::note_stop(decide::StopKind kind) {
  const bool is_done =
      begun_ && !processes_.empty() &&
      std::ranges::all_of(processes_, [](const Process& it) { return it.has_returned; }) &&
      !(machine_.stop && machine_.stop->seen);
  if (is_run_ending_) return;
  is_resizing_ = false;
  is_terminated_ = is_terminated_ || kind == decide::StopKind::kTerminate;
  is_stopped_ = is_stopped_ || (is_asked_for(kind) && !is_done);
}

// Demands that an event of an earlier attempt has no effect.
void RunWorld::check_late(const decide::Event& event, int attempt,
                          const std::vector<decide::Action>& actions) const {
  const bool is_late = std::visit(
      [&](const auto& e) {
        if constexpr (requires { e.attempt; }) return e.attempt != attempt;
        return false;
      },
      event);
  demand(!is_late || actions.empty(), "6: something is done for an attempt that is over");
}

// Demands what one event may change.
void RunWorld::check_step(const decide::Event& event, const decide::Machine& before) const {
  const decide::Machine& after = machine_;
  if (before.stop && after.stop && is_asked_for(before.stop->kind))
    demand(after.stop->kind == before.stop->kind, "of two orders from outside the later one holds");
  if (const auto* asked = std::get_if<decide::event::StopRequested>(&event)) {
    const bool overrules = before.stop && before.stop->seen && !is_asked_for(before.stop->kind) &&
                           is_asked_for(asked->kind) && !decide::is_ending(before.stage);
    demand(!overrules || (after.stop && after.stop->kind == asked->kind),
           "somebody's request is ignored since the run stops by its own condition");
  }
  const bool is_failing = before.group.verdict != decide::Verdict::kNone;
  demand(!is_failing || !decide::is_any<decide::stage::Starting>(before.stage) ||
             !decide::is_any<decide::stage::Running>(after.stage),
         "a group that has failed is shown as running");
  demand(!std::holds_alternative<decide::event::StopRequested>(event) ||
             !decide::is_regrouping(before.stage) ||
             !decide::is_any<decide::stage::Killed>(after.stage),
         "a request to stop ends a heal, and the group could be asked afterwards");
  const auto is_behind = [](const Process& it) {
    return it.is_alive && !it.is_dying && it.is_healable && !it.is_unwound && !it.is_told_lost;
  };
  demand(decide::is_any<decide::stage::Gathering>(before.stage) ||
             !decide::is_any<decide::stage::Gathering>(after.stage) ||
             std::ranges::none_of(processes_, is_behind),
         "a group is to grow, and a rank is not told to go back to its commit");
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
                     feed(decide::event::ResourcesGranted{
                         least + draws_.below(machine_.scaling.max_workers() - least + 1)});
                   }});
  }
  if (!writing_.empty()) out.push_back({8, [this] { answer_row(); }});
  if (!wanted_room_.empty() && !has_room_ && !faults_.no_room) {
    out.push_back({2, [this] {
                     has_room_ = true;
                     feed(decide::event::RoomFound{machine_.attempt, wanted_room_});
                   }});
  }
}

void RunWorld::answer_row() {
  const Writing done = writing_.front();
  writing_.pop_front();
  if (!is_calm_ && faults_.storage && draws_.chance(0.1))
    feed(decide::event::StorageFailed{Error(Code::kEnvironment, "disk is full")});
  switch (done.row) {
    case Row::kBegin:
      begun_ = done.attempt;
      return feed(decide::event::AttemptBegun{});
    case Row::kEnd:
    case Row::kHealed:
      begun_.reset();
      return feed(decide::event::AttemptEnded{draws_.chance(0.3), 1});
    case Row::kRun:
      return feed(decide::event::RunEnded{});
  }
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
  add(3, verdict_, [](int attempt) { return decide::event::VerdictDue{attempt}; });
  add(4, retry_, [](int attempt) { return decide::event::RetryDue{attempt}; });
  add(8, heal_due_, [](int attempt) { return decide::event::HealDue{attempt}; });
  if (!is_calm_)
    add(6, resize_, [this](int attempt) {
      return decide::event::ResourcesSeen{attempt, 1 + draws_.below(6)};
    });
  if (faults_.deadline || out.empty())
    add(1, deadline_, [](int attempt) { return decide::event::DeadlinePassed{attempt}; });
}

// Adds timers and messages of ranks from the previous attempt.
void RunWorld::add_late_timers(std::vector<Choice>& out) {
  out.push_back({1, [this] {
                   const int attempt = machine_.attempt - 1;
                   switch (draws_.below(9)) {
                     case 0:
                       return feed(decide::event::VerdictDue{attempt});
                     case 1:
                       return feed(decide::event::DeadlinePassed{attempt});
                     case 2:
                       return feed(decide::event::HealDue{attempt});
                     case 3:
                       return feed(decide::event::RetryDue{attempt});
                     case 4:
                       return feed(decide::event::GracePassed{attempt});
                     case 5:
                       return feed(decide::event::StopComplete{attempt});
                     case 6:
                       return feed(decide::event::CheckpointCommitted{attempt});
                     case 7:
                       return feed_late_room(attempt);
                     default:
                       return feed(decide::event::ResourcesSeen{attempt, 1 + draws_.below(6)});
                   }
                 }});
}

// Of the attempt before, or of a request that another one has replaced.
void RunWorld::feed_late_room(int attempt) {
  const std::vector<int> ranks{draws_.below(3)};
  if (ranks != wanted_room_ && draws_.chance(0.5)) attempt = machine_.attempt;
  feed(decide::event::RoomFound{attempt, ranks});
}

// Adds the events that can happen after a group was asked to stop.
void RunWorld::add_stop(std::vector<Choice>& out) {
  if (!is_asked_ || num_alive() == 0) return;
  out.push_back({1, [this] { feed(decide::event::StopSeen{}); }});
  out.push_back({1, [this] { feed(decide::event::CheckpointCommitted{machine_.attempt}); }});
  if (has_saved_)
    out.push_back({1, [this] { feed(decide::event::StopComplete{machine_.attempt}); }});
  // A group that only grows has no grace period.
  if (!is_resizing_ || !is_growing_) {
    out.push_back({1, [this] { feed(decide::event::GracePassed{machine_.attempt}); }});
  }
}

void RunWorld::add_faults(std::vector<Choice>& out) {
  if (is_requesting_ && faults_.refuse) {
    out.push_back(
        {1, [this] {
           is_requesting_ = false;
           feed(decide::event::ResourcesRefused{Error(Code::kConfig, "more than there is")});
         }});
  }
  if (faults_.stop && draws_.chance(0.3)) {
    const bool is_rare =
        decide::is_between_attempts(machine_.stage) || decide::is_regrouping(machine_.stage);
    const int weight = is_rare ? 4 : 1;
    out.push_back({weight, [this] {
                     feed(decide::event::StopRequested{
                         static_cast<decide::StopKind>(draws_.below(4)), "somebody"});
                   }});
  }
  if (faults_.stop && draws_.chance(0.1)) {
    out.push_back(
        {1, [this] {
           feed(decide::event::StopNow{static_cast<decide::StopKind>(draws_.below(3)), "somebody"});
         }});
  }
  if (faults_.storage && draws_.chance(0.1)) {
    out.push_back({1, [this] {
                     feed(decide::event::StorageFailed{Error(Code::kEnvironment, "disk is full")});
                   }});
  }
  if (num_alive() > 0 && faults_.health && draws_.chance(0.1)) {
    out.push_back({2, [this] { feed(decide::event::Unbalanced{}); }});
  }
  if (num_alive() > 0 && faults_.health && draws_.chance(0.05)) {
    out.push_back({1, [this] {
                     feed(decide::event::RankSlow{
                         draws_.below(static_cast<int>(machine_.group.ranks.size()))});
                   }});
  }
  if (num_alive() > 0 && faults_.health && draws_.chance(0.1)) {
    out.push_back({1, [this] {
                     const int rank = draws_.below(static_cast<int>(processes_.size()));
                     const decide::FailureKind kind = draws_.chance(0.5)
                                                          ? decide::FailureKind::kPreemption
                                                          : decide::FailureKind::kWorkerGroup;
                     feed(decide::event::NodeUnhealthy{
                         rank, Error(Code::kEnvironment, "the node is bad"), kind});
                   }});
  }
}

bool RunWorld::is_writing(Row row) const {
  return std::ranges::any_of(writing_, [row](const Writing& each) { return each.row == row; });
}

}  // namespace rtrain::sim
