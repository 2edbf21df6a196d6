// host/decide/run/transition.h: one step of the state machine, as a class. It has an overload of
// on() for each event, which changes the machine and collects the actions. step() makes one.
//
// Its methods are in a file for each part of a run's life: starting.cpp, failing.cpp, healing.cpp,
// growing.cpp, stopping.cpp and ending.cpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/decide/run/state_machine.h"

namespace rtrain::decide {

class Transition {
 public:
  explicit Transition(Machine machine) : m_(std::move(machine)) {}

  Step take() { return {std::move(m_), std::move(actions_)}; }

  // starting.cpp
  void on(const event::Started& e);
  void on(const event::ResourcesGranted& e);
  void on(const event::ResourcesRefused& e);
  void on(const event::AttemptBegun& e);
  void on(const event::SpawnFailed& e);
  void on(const event::PhaseReached& e);
  void on(const event::DeadlinePassed& e);

  // failing.cpp
  void on(const event::Failed& e);
  void on(const event::Dying& e);
  void on(const event::Gone& e);
  void on(const event::VerdictDue& e);
  void on(const event::NodeUnhealthy& e);
  void on(const event::RankSlow& e);
  void on(const event::StorageFailed& e);

  // healing.cpp
  void on(const event::Healable& e);
  void on(const event::Unwound& e);
  void on(const event::HealDue& e);
  void on(const event::RoomFound& e);

  // growing.cpp
  void on(const event::ResourcesSeen& e);
  void on(const event::Unbalanced& e);

  // stopping.cpp
  void on(const event::StopRequested& e);
  void on(const event::StopSeen& e);
  void on(const event::CheckpointCommitted& e);
  void on(const event::StopComplete& e);
  void on(const event::GracePassed& e);
  void on(const event::StopNow& e);

  // ending.cpp
  void on(const event::Returned& e);
  void on(const event::AttemptEnded& e);
  void on(const event::RetryDue& e);
  void on(const event::RunEnded& e);

 private:
  using LateRanks = std::vector<std::pair<int, Error>>;

  template <class T>
  void add(T action) {
    actions_.emplace_back(std::move(action));
  }
  template <class... Stages>
  bool is() const {
    return is_any<Stages...>(m_.stage);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&m_.stage);
  }
  RankState& rank_of(int rank) { return m_.group.ranks.at(static_cast<size_t>(rank)); }
  bool is_failing() const { return m_.group.verdict != Verdict::kNone; }
  // Whether a heal or a growth is under way, until all ranks hold the state again.
  bool is_healing() const { return is_regrouping(m_.stage) || m_.group.is_healed; }
  // Whether the group is to be ended as soon as the rows of a heal are written.
  bool is_kill_due() const;
  // Whether the ranks can be asked to stop.
  bool may_ask() const { return is_running(m_.stage) && !is_failing(); }

  // starting.cpp
  void request_resources(RunState state, std::optional<GroupError> error = {});
  void begin_attempt(int num_workers);
  void update_slowest();
  LateRanks late_ranks();
  Error lateness(int rank);
  void fail_late_start();
  void fail_start(const Error& error, int rank, bool is_transient = false);

  // failing.cpp
  void start_verdict();
  void check_verdict();
  void lose(int rank);
  void lose_host(RankState& rank, bool can_move);
  std::string why_not_without(const RankState& lost) const;
  void kill();
  void end_group();
  void check_all_gone();

  // healing.cpp
  int least_workers() const;
  bool can_heal() const;
  bool may_heal() const;
  bool may_be_loss() const;
  bool has_heals_left() const;
  void keep_spares(bool are);
  void check_barren(RankState& rank);
  bool continue_without(const LateRanks& ranks);
  void heal(int lost);
  void check_unwound();
  void record_heal();
  void reopen(const stage::Recording& recorded);
  void replace_lost();
  void heal_group();
  std::vector<int> moving() const;
  bool has_room() const;
  void find_room();
  bool is_stopped() const;
  bool awaits_room() const;
  void give_up_room();
  void give_up_heal();

  // growing.cpp
  void stop_growing();
  void gather(int rank);
  void begin_larger_group();
  void go_on_in_place();
  void set_resize_timer();
  void fail_growth(const std::string& reason);

  // stopping.cpp
  bool accept(StopKind kind, const std::string& by);
  void ask_to_stop(const StopProgress& stop);
  void stop_at_once();
  void finish_stop(const event::AttemptEnded& end);
  void finish_resize(const StopProgress& stop, const event::AttemptEnded& end);
  void finish_preemption(const StopProgress& stop, const event::AttemptEnded& end);

  // ending.cpp
  void end_attempt();
  bool was_taken() const;
  action::EndAttempt outcome(const std::optional<GroupError>& error) const;
  void charge(const GroupError& error, const event::AttemptEnded& end);
  void end_without_storage();
  void end_run(RunState outcome, std::optional<GroupError> error);

  Machine m_;
  std::vector<Action> actions_;
};

// The error of a start, or of the controller: of `rank`, or of no particular rank (-1).
GroupError controller_error(const Error& error, int rank = -1);

}  // namespace rtrain::decide
