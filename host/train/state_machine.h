// host/train/state_machine.h: what a run does next: step(state, event) → (state, actions).
//
// Pure: no clock, process or file. The controller performs the actions and feeds back what
// happened.
//
//   INITIALIZING → SCHEDULING → RUNNING → SHUTTING_DOWN → FINISHED, ERRORED, ABORTED or PREEMPTED
//                      ↑           ├→ PREEMPTING ↗ │
//                      └── RESTARTING, RESCHEDULING (the group never ran) or RESIZING
//
// Invariants: 1 a group is spawned only after its resources are held and its attempt's row is on
// disk; 2 the next attempt begins only after every process of the last one is gone and its row is
// closed; 3 an error of kind peer_lost is the cause only when no rank has another one; 4 a failure
// that came before another trouble stays the run's error; 5 after Finish nothing comes; 6 an event
// of a rank whose attempt is over changes nothing.
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
#include "host/train/failure_policy.h"
#include "host/train/group/group_state.h"
#include "host/train/resources/scaling_policy.h"
#include "host/train/stop/stop_outcome.h"

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
// What RequestResources asked for is held.
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
};
// Armed by SetVerdictTimer.
struct VerdictDue {
  int attempt;
};
struct CheckpointCommitted {
  int attempt;
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
};
// stop_requested() has returned true to a rank.
struct StopSeen {};
// What AskToStop began has brought a checkpoint: the group is to end.
struct StopComplete {
  int attempt;
};
// It has not within its time.
struct GracePassed {
  int attempt;
};
// A second signal, rtrain stop --now: nobody is asked.
struct StopNow {
  StopKind kind;
};
struct StorageFailed {
  Error error;
};
// The host of the rank is not to be used any more, or the group is to begin again for another
// reason than what its ranks do.
struct HostUnhealthy {
  int rank;
  Error error;
  FailureKind kind;
};
}  // namespace event
using Event =
    std::variant<event::Started, event::ResourcesGranted, event::ResourcesRefused,
                 event::AttemptBegun, event::SpawnFailed, event::PhaseReached,
                 event::DeadlinePassed, event::Returned, event::Failed, event::Dying, event::Gone,
                 event::VerdictDue, event::CheckpointCommitted, event::ResourcesSeen,
                 event::AttemptEnded, event::RetryDue, event::RunEnded, event::StopRequested,
                 event::StopSeen, event::StopComplete, event::GracePassed, event::StopNow,
                 event::StorageFailed, event::HostUnhealthy>;

namespace action {
// Answered with ResourcesGranted as soon as between min and max workers can be had, be it at once.
struct RequestResources {
  int min_workers;
  int max_workers;
};
struct BeginAttempt {
  int attempt;
  int num_workers;
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
// The group will get another size.
struct ReportResize {
  int from;
  int to;
};
// A rank has died, and the group is ended for it.
struct ReportDeath {
  int rank;
};
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
using Action = std::variant<action::RequestResources, action::BeginAttempt, action::SpawnGroup,
                            action::SendStart, action::SetDeadline, action::ClearDeadline,
                            action::SetVerdictTimer, action::SetResizeTimer, action::AskToStop,
                            action::ReportResize, action::ReportDeath, action::SendExit,
                            action::KillGroup, action::EndAttempt, action::ReportFailure,
                            action::SetRetryTimer, action::EndRun, action::Finish>;

struct Machine {
  Machine(ScalingPolicy scaling, FailurePolicy policy, double start_timeout_s = 60)
      : scaling(scaling), policy(std::move(policy)), start_timeout_s(start_timeout_s) {}

  ScalingPolicy scaling;
  FailurePolicy policy;
  double start_timeout_s;
  RunState state = RunState::kInitializing;
  bool requesting = false;  // RequestResources is not answered
  int attempt = 0;
  int num_workers = 0;                    // of the attempt
  int resize_to = 0;                      // what a stop of kind kResize is for
  std::vector<RankState> ranks;           // of the attempt; empty while there is no group
  Phase slowest = Phase::kSpawn;          // the phase that every rank has reached
  bool ran = false;                       // every rank of the attempt reached its train function
  bool failing = false;                   // a rank has failed; the verdict is due
  bool killed = false;                    // SIGKILL went to the group
  bool attempt_ending = false;            // EndAttempt was given
  std::optional<GroupError> group_error;  // a failure that is not a rank's: start-up, storage
  bool transient = false;                 // of the group error
  bool storage_failed = false;
  bool run_ending = false;  // EndRun was given
  std::optional<StopProgress> stop;
  std::optional<GroupError> error;         // of the attempt that just failed
  RunState outcome = RunState::kFinished;  // once the run is ending
};

struct Step {
  Machine machine;
  std::vector<Action> actions;
};

Step step(Machine machine, const Event& event);

}  // namespace rtrain
