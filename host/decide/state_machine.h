// host/decide/state_machine.h: the next actions of a run: step(state, event) → (state, actions).
//
// Pure: no clock, process or file. The controller performs the actions and feeds back what
// happened.
//
//   INITIALIZING → SCHEDULING → RUNNING → SHUTTING_DOWN → FINISHED, ERRORED, ABORTED or PREEMPTED
//                      ↑           ├→ PREEMPTING ↗ │
//                      └── RESTARTING, RESCHEDULING (the group never ran) or RESIZING
//
// A **heal** (train.elastic) replaces lost ranks while the others live: they go back to their last
// commit (TellLost, Unwound), the attempt's row is closed (EndHealed) and one for the next attempt
// written, which takes them over (HealGroup). The state is RUNNING, then RESTARTING and SCHEDULING
// with processes; no budget is charged but max_heals. Where no worker can take a lost rank's place
// (its host is gone, its process does not start) an elastic group continues without it, down to its
// least number of workers; the ranks get new numbers then.
//
// Invariants: 1 a group is spawned only after its resources are held and its attempt's row is on
// disk; 2 the next attempt begins only after every process of the last one is gone and its row is
// closed; 3 an error of kind peer_lost is the cause only when no rank has another one; 4 a failure
// that came before another trouble stays the run's error; 5 after Finish nothing comes; 6 an event
// of a rank whose attempt is over changes nothing.
//
// Where all ranks hold a commit of train.elastic the group also **grows** from there: they are
// asked (AskToGrow), go back to it (Unwound), each with its part on disk, and are ended; the next
// attempt begins with more workers and that commit. A rank that is lost meanwhile is a heal.
//
// A running group has a graceful shutdown (graceful_shutdown.h): it begins with AskToStop and ends
// when every rank has returned, with StopComplete or with GracePassed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/error.h"
#include "host/decide/failure_policy.h"
#include "host/decide/group_state.h"
#include "host/decide/scaling_policy.h"
#include "host/decide/stop_outcome.h"

namespace rtrain {

enum class RunState {
  kInitializing,
  kScheduling,
  kRescheduling,
  kRunning,
  kPreempting,
  kRestarting,
  kResizing,
  kShuttingDown,
  kErrored,
  kFinished,
  kAborted,
  kPreempted,
};

// Ray's name of the state: "SHUTTING_DOWN".
std::string_view state_name(RunState state);

namespace event {
// The run's row is on disk.
struct Started {};
// The resources of RequestResources are held.
struct ResourcesGranted {
  int num_workers;
};
// It can never be had.
struct ResourcesRefused {
  Error error;
};
// The attempt's row is on disk.
struct AttemptBegun {};
// A node has not started this rank, nor its ranks behind it, up to before `end`.
struct SpawnFailed {
  Error error;
  int rank;
  int end;
  bool transient = false;
};
struct PhaseReached {
  int rank;
  Phase phase;
};
// Armed by SetDeadline.
struct DeadlinePassed {
  int attempt;
};
struct Returned {
  int rank;
};
// The rank's train function raised.
struct Failed {
  int rank;
  Error error;
  double time_s;
};
// The rank's main thread has ended, all it had sent is in; Gone follows with its status.
struct Dying {
  int rank;
  double time_s;
};
// The rank's process has ended and all it sent is in.
struct Gone {
  int rank;
  Error error;
  double time_s;
  bool has_host = true;  // it is there
};
// Armed by SetVerdictTimer.
struct VerdictDue {
  int attempt;
};
struct CheckpointCommitted {
  int attempt;
};
// The rank holds a committed step of train.elastic, or no longer does.
struct Healable {
  int rank;
  bool is;
  std::string fixed = {};  // why it cannot continue in a smaller group, or empty
};
// Asked for by LookAgain.
struct HealDue {
  int attempt;
};
// It is back at its last one, because another rank is lost.
struct Unwound {
  int rank;
  Unwinding unwinding;
};
// Asked for by SetResizeTimer.
struct ResourcesSeen {
  int attempt;
  int capacity;  // that many workers could run, these included
};
// All the attempt's reports and its row are on disk.
struct AttemptEnded {
  bool new_checkpoint;
  double ran_s = 0;  // from when all ranks ran; 0 when they never did
};
// Armed by SetRetryTimer.
struct RetryDue {
  int attempt;
};
struct RunEnded {};
struct StopRequested {
  StopKind kind;
  std::string by = {};  // who
};
// stop_requested() has returned true to a rank.
struct StopSeen {};
// The stop that AskToStop began has brought a checkpoint: the group is to end.
struct StopComplete {
  int attempt;
};
// It has not within its time.
struct GracePassed {
  int attempt;
};
// A second signal, rtrain stop --now: no rank is asked.
struct StopNow {
  StopKind kind;
  std::string by = {};
};
struct StorageFailed {
  Error error;
};
// The host of the rank is not to be used any more, or the group is to begin again for another
// reason than what its ranks do.
struct NodeUnhealthy {
  int rank;
  Error error;
  FailureKind kind;
};
}  // namespace event
using Event =
    std::variant<event::Started, event::ResourcesGranted, event::ResourcesRefused,
                 event::AttemptBegun, event::SpawnFailed, event::PhaseReached,
                 event::DeadlinePassed, event::Returned, event::Failed, event::Dying, event::Gone,
                 event::VerdictDue, event::CheckpointCommitted, event::Healable, event::HealDue,
                 event::Unwound, event::ResourcesSeen, event::AttemptEnded, event::RetryDue,
                 event::RunEnded, event::StopRequested, event::StopSeen, event::StopComplete,
                 event::GracePassed, event::StopNow, event::StorageFailed, event::NodeUnhealthy>;

namespace action {
// Answered with ResourcesGranted as soon as between min and max workers can be had, be it at once.
struct RequestResources {
  int min_workers;
  int max_workers;
};
struct BeginAttempt {
  int attempt;
  int num_workers;
  // Of a heal, and of an attempt that continues from a commit: of its first report.
  std::optional<int64_t> first_index = {};
  bool carries = false;  // it continues from a commit of the ranks
};
struct SpawnGroup {
  int attempt;
  int num_workers;
};
struct SendStart {
  int rank;
};
struct SetDeadline {
  double seconds;
};
struct ClearDeadline {};
struct SetVerdictTimer {
  double seconds;
};
// Answered with ResourcesSeen after that time.
struct SetResizeTimer {
  double seconds;
};
// Begins the graceful shutdown, or only its grace period again when it is under way.
struct AskToStop {
  StopKind kind;
};
// The group will get another size, after its next commit or checkpoint.
struct ReportResize {
  int from;
  int to;
  bool at_commit = false;
};
// The ranks are to go back to their next commit and to write it: Unwound. Or no longer.
struct AskToGrow {
  bool is = true;
};
// All ranks of the larger group hold the state that the smaller one has written.
struct DropCarried {};
// A rank has died, and the group is ended for it, or healed.
struct ReportDeath {
  int rank;
  DeathEffect effect = DeathEffect::kEnds;
  std::string because = {};  // of the effect, or empty
};
// No worker takes a lost rank's place, because of that: the others continue without it.
struct ReportLeftOut {
  int rank;
  Error error;
};
// The other ranks are to go back to their last commit: Unwound.
struct TellLost {
  int rank;
};
struct KillRank {
  int rank;
};
// The attempt of a heal is over, its processes are not. Answered with AttemptEnded.
struct EndHealed {
  GroupError error;
  int64_t next_index;  // of the first report of the next one
};
// The processes that are left continue in this attempt: what was rank kept[i] is rank i. Of these
// the lost ones are replaced.
struct HealGroup {
  int attempt;
  std::vector<int> kept;
  std::vector<int> lost;  // as they are numbered now
};
// Answered with HealDue, at once: not within the event of a process.
struct LookAgain {};
// All ranks hold the state again.
struct ReportHealed {};
struct SendExit {};
struct KillGroup {};
// `status`: errored, finished or aborted.
struct EndAttempt {
  RunState status;
  std::optional<GroupError> error;
};
struct ReportFailure {
  GroupError error;
  FailureDecision decision;
};
struct SetRetryTimer {
  double seconds;
};
struct EndRun {
  RunState status;
  std::optional<GroupError> error;
};
struct Finish {
  RunState status;
  std::optional<GroupError> error;
};
}  // namespace action
using Action =
    std::variant<action::RequestResources, action::BeginAttempt, action::SpawnGroup,
                 action::SendStart, action::SetDeadline, action::ClearDeadline,
                 action::SetVerdictTimer, action::SetResizeTimer, action::AskToStop,
                 action::ReportResize, action::AskToGrow, action::DropCarried, action::ReportDeath,
                 action::ReportLeftOut, action::TellLost, action::KillRank, action::EndHealed,
                 action::HealGroup, action::LookAgain, action::ReportHealed, action::SendExit,
                 action::KillGroup, action::EndAttempt, action::ReportFailure,
                 action::SetRetryTimer, action::EndRun, action::Finish>;

// How often lost ranks may be replaced while the others live; -1: any number.
struct HealLimits {
  int max_heals = 0;
  double unwind_timeout_s = 1800;  // until the others are back at their last commit
  // From when ranks notice a loss until it is known here, at most: a host that is gone is waited
  // for. 0: there is one host.
  double loss_timeout_s = 0;
};

enum class HealStage {
  kNone,
  kUnwinding,  // the ranks that are left go back to their last commit
  kWriting,    // the rows are on their way
  kDying,      // they are written; the process of a lost rank has not ended yet
};

struct Machine {
  Machine(ScalingPolicy scaling, FailurePolicy policy, double start_timeout_s = 60,
          HealLimits heal_limits = {})
      : scaling(scaling),
        policy(std::move(policy)),
        start_timeout_s(start_timeout_s),
        heal_limits(heal_limits) {}

  ScalingPolicy scaling;
  FailurePolicy policy;
  double start_timeout_s;
  HealLimits heal_limits;
  RunState state = RunState::kInitializing;
  bool requesting = false;  // RequestResources is not answered
  int attempt = 0;
  int num_workers = 0;            // of the attempt
  int resize_to = 0;              // the size that a stop of kind kResize is for
  std::vector<RankState> ranks;   // of the attempt; empty while there is no group
  Phase slowest = Phase::kSpawn;  // the phase that every rank has reached
  bool ran = false;               // every rank of the attempt reached its train function
  bool failing = false;           // a rank has failed; the verdict is due
  bool killed = false;            // SIGKILL went to the group
  HealStage heal = HealStage::kNone;
  bool can_replace = false;     // all ranks of the group have been in train.elastic together
  bool can_shrink = false;      // it can continue with fewer of them
  bool is_growing = false;      // AskToGrow was given
  bool carries = false;         // the next attempt, or this one, begins with a written commit
  int num_heals = 0;            // of the run
  int64_t next_index = 0;       // of the first report behind the heal
  int barren_heals = 0;         // since all ranks held the state
  bool awaits_loss = false;     // ranks have noticed one that is not known here
  bool is_healed = false;       // ranks were replaced, and have not got the state yet
  bool kill_is_due = false;     // behind the row that is being written
  bool attempt_ending = false;  // EndAttempt was given
  std::optional<GroupError> group_error;    // a failure that is not a rank's: start-up, storage
  bool transient = false;                   // of the group error
  std::optional<GroupError> storage_error;  // writing has failed
  bool run_ending = false;                  // EndRun was given
  std::optional<StopProgress> stop;
  std::optional<GroupError> error;         // of the attempt that just failed
  RunState outcome = RunState::kFinished;  // once the run is ending
};

struct Step {
  Machine machine;
  std::vector<Action> actions;
};

// Throws Error(kInternal) where the machine is in a state that must never be.
Step step(Machine machine, const Event& event);

}  // namespace rtrain
