// tests/sim/worlds/run_world.h: a simulated run: processes, disk, resources and operators around
// host/decide/run/state_machine.h.
//
// The world answers the machine's requests in any order and after any delay, and lets the faults of
// a cluster happen: ranks raise and die, nodes disappear, disks fill up, users stop runs. After
// each event it demands the invariants of the machine's header; once no new fault happens, the run
// must end by itself.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/decide/run/state_machine.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class RunWorld : public World {
 public:
  explicit RunWorld(Draws& draws);
  void live() override;

 private:
  // Events within which a run without new faults must end.
  static constexpr int kMostCalm = 4000;

  // A process of the group, with the state that the machine cannot see.
  struct Process {
    bool is_alive = true;
    bool is_started = false;  // SendStart has come
    bool is_told_exit = false;
    bool is_stuck = false;  // after its train function it ends only when it is killed
    bool is_killed = false;
    bool is_dying = false;  // its death was seen, its exit status has not come
    bool has_returned = false;
    bool has_raised = false;
    bool is_told_lost = false;
    bool is_unwound = false;
    bool is_healable = false;
    bool has_host = true;
    bool can_move = false;            // its node is lost, and another one can have its rank
    bool is_left_out = false;         // the group goes on without a process in its place
    bool has_died = false;            // died by itself, without a message before
    bool may_have_error = false;      // it raised, died by itself, or was killed alone
    std::optional<double> error_s;    // when the process raised or died
    std::optional<double> unwound_s;  // when the process was back from unwinding
    std::optional<int64_t> unwound_step;
    decide::Phase phase = decide::Phase::kSpawn;

    std::optional<double> said_s() const { return error_s ? error_s : unwound_s; }
    // Whether it lives or can be replaced.
    bool is_kept() const { return (is_alive || has_host || can_move) && !is_left_out; }
  };
  // A row that is being written to the database.
  enum class Row { kBegin, kEnd, kHealed, kRun };
  struct Writing {
    Row row;
    int attempt;
  };
  // The faults that can happen in this life. Only a few at a time: with all of them, no run gets
  // far.
  struct Faults {
    bool raise, die, lose_host, spawn, refuse, stop, storage, health, leave_elastic, deadline, late,
        disagree, stick, no_room;
  };
  // An event that can happen now; its probability grows with the weight.
  struct Choice {
    int weight;
    std::function<void()> happen;
  };

  static decide::Machine make_machine(Draws& draws, const decide::FailureLimits& limits);
  static Faults make_faults(Draws& draws);

  void feed(const decide::Event& event);
  void note(const decide::Event& event);
  void note_stop(decide::StopKind kind);
  void note_error(int rank, double time_s);
  void check_late(const decide::Event& event, int attempt,
                  const std::vector<decide::Action>& actions) const;
  void check_step(const decide::Event& event, const decide::Machine& before) const;
  void check_cause(const decide::GroupError& error);
  void note_healable();
  bool may_be_healed(int lost) const;
  bool are_all_back() const;
  bool is_undisturbed() const;
  void add_late_timers(std::vector<Choice>& out);
  void feed_late_room(int attempt);
  bool step_on();  // returns false if nothing can happen
  std::vector<Choice> choices();
  void add_answers(std::vector<Choice>& out);
  void add_ranks(std::vector<Choice>& out);
  void add_rank(std::vector<Choice>& out, int rank);
  void add_train_function(std::vector<Choice>& out, int rank);
  void add_timers(std::vector<Choice>& out);
  void add_stop(std::vector<Choice>& out);
  void add_faults(std::vector<Choice>& out);
  void answer_row();
  void end_process(int rank, const char* why, bool has_host);
  void lose_host(int rank);
  void check_machine() const;
  void check_end() const;

  void act(const decide::action::RequestResources& a);
  void act(const decide::action::BeginAttempt& a);
  void act(const decide::action::SpawnGroup& a);
  void act(const decide::action::SendStart& a);
  void act(const decide::action::SetDeadline& a);
  void act(const decide::action::ClearDeadline&) { deadline_.reset(); }
  void act(const decide::action::SetVerdictTimer&) { verdict_ = machine_.attempt; }
  void act(const decide::action::SetResizeTimer&) { resize_ = machine_.attempt; }
  void act(const decide::action::AskToStop& a);
  void act(const decide::action::TellResize& a);
  void act(const decide::action::AskToGrow& a);
  void act(const decide::action::DropCarried&);
  void act(const decide::action::TellDeath& a);
  void act(const decide::action::TellLeftOut& a);
  void act(const decide::action::Unwind& a);
  void act(const decide::action::KillRank& a);
  void act(const decide::action::EndHealed& a);
  void act(const decide::action::HealGroup& a);
  void act(const decide::action::FindRoom& a);
  void act(const decide::action::TellNoRoom& a);
  void act(const decide::action::LookAgain&) { heal_due_ = machine_.attempt; }
  void act(const decide::action::KeepSpares& a);
  void act(const decide::action::TellHealed&);
  void act(const decide::action::SendExit&);
  void act(const decide::action::KillGroup&);
  void act(const decide::action::EndAttempt& a);
  void act(const decide::action::TellFailure& a);
  void act(const decide::action::SetRetryTimer&) { retry_ = machine_.attempt; }
  void act(const decide::action::EndRun& a);
  void act(const decide::action::Finish& a);

  Process& process(int rank) { return processes_.at(static_cast<size_t>(rank)); }
  const Process& process(int rank) const { return processes_.at(static_cast<size_t>(rank)); }
  int num_alive() const;
  int num_lost() const;
  int num_kept() const;
  bool is_hindered() const;
  bool is_writing(Row row) const;
  Error error_of_user();

  Draws& draws_;
  decide::FailureLimits limits_;
  decide::Machine machine_;
  Faults faults_;
  bool is_ending_ = false;          // train functions return
  bool is_calm_ = false;            // no new faults
  bool is_elastic_script_ = false;  // the script calls train.elastic
  bool is_finished_ = false;
  double now_s_ = 1;

  std::vector<Process> processes_;
  std::deque<Writing> writing_;  // in the order in which the io thread writes them
  std::optional<int> begun_;     // the attempt whose row is on disk and open
  bool is_requesting_ = false;
  bool has_resources_ = false;
  std::vector<int> wanted_room_;  // the ranks for which a node is looked for
  bool has_room_ = false;         // it was found
  double deadline_s_ = 0;
  bool is_asked_ = false;  // the group was asked to stop
  bool is_asked_to_grow_ = false;
  bool is_asked_in_place_ = false;  // the same processes are to go on
  std::optional<int> slow_rank_;    // of the present event
  std::set<int> given_up_;          // slow ranks
  // Timers: each holds the attempt in which it was set.
  std::optional<int> deadline_, verdict_, resize_, retry_, heal_due_;

  // Facts about earlier events by which later actions are judged.
  bool is_stopped_ = false;     // stopped from outside while ranks were working
  bool is_terminated_ = false;  // stopped by a kTerminate
  bool is_disk_full_ = false;
  bool is_run_ending_ = false;   // EndRun has come
  bool is_resizing_ = false;     // TellResize has come, and nothing else has stopped the run
  bool is_growing_ = false;      // the resize is to a larger group
  bool has_saved_ = false;       // since the group was asked to stop
  bool is_out_of_time_ = false;  // the grace period has passed since the group was asked to stop

  bool is_carrying_ = false;  // the attempt began from the state that ranks had written at a commit
  int last_attempt_ = 0;
  int64_t next_index_ = 0;  // the first report after the last commit that the group went back to
  int num_heals_ = 0;
  int num_fresh_heals_ = 0;  // heals of groups that held the state before
  bool has_just_raised_ = false;
  bool is_to_end_ = false;     // the group was ordered to end, or cannot record anything more
  bool is_stop_seen_ = false;  // by a rank, since the group started
  bool is_unwinding_ = false;  // the event reports a rank that is back after another one's loss
  bool keeps_spares_ = false;
  bool is_healing_ = false;                       // until all ranks hold the state again
  bool were_all_healable_ = false;                // once, and no rank has left train.elastic since
  std::map<decide::FailureKind, int> retries_;    // by failure kind
  std::optional<decide::GroupError> ended_with_;  // the error of the last attempt, if it failed
};

}  // namespace rtrain::sim
