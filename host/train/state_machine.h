// host/train/state_machine.h: what a run does next: step(state, event) → (state, actions).
//
// Pure: no clock, process or file. The controller performs the actions and feeds back what
// happened.
//
//   INITIALIZING → SCHEDULING → RUNNING → SHUTTING_DOWN → FINISHED
//                      ↑            └──→ SHUTTING_DOWN → RESTARTING (RESCHEDULING when the group
//                      never ran) or ERRORED └───────────────────────────────────┘       any →
//                      SHUTTING_DOWN → ABORTED
//
// Invariants: 1 a group is spawned only after its attempt's row is on disk; 2 the next attempt
// begins only after every process of the last one is gone and its row is closed; 3 an error of kind
// peer_lost is the cause only when no rank has another one; 4 after Finished nothing comes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/error.h"
#include "host/train/failure_policy.h"

namespace rtrain {

enum class RunState {
  kInitializing,
  kScheduling,
  kRescheduling,
  kRunning,
  kRestarting,
  kShuttingDown,
  kErrored,
  kFinished,
  kAborted,
};

// Ray's name of the state: "SHUTTING_DOWN".
std::string_view state_name(RunState state);

// How far a worker is on its way to the train function.
enum class Phase { kSpawn, kHello, kEngineLoaded, kGroupReady, kRunning };
std::string_view phase_name(Phase phase);
std::optional<Phase> phase_from_name(std::string_view name);

// One failed attempt: the cause, the rank it came from (-1: none in particular), and what each rank
// said.
struct GroupError {
  Error cause{Code::kInternal, ""};
  int rank = -1;
  std::map<int, Error> ranks;
};

namespace event {
struct Started {};       // the run's row is on disk
struct AttemptBegun {};  // the attempt's row is on disk
struct SpawnFailed {
  Error error;
  int spawned;
};  // the first `spawned` ranks run
struct PhaseReached {
  int rank;
  Phase phase;
};
struct DeadlinePassed {
  int attempt;
};  // armed by SetDeadline
struct Returned {
  int rank;
};
struct Failed {
  int rank;
  Error error;
  double time_s;
};  // the rank's train function raised
struct Gone {
  int rank;
  Error error;
  bool by_signal;
  double time_s;
};  // its process has ended and all it sent is in
struct VerdictDue {
  int attempt;
};  // armed by SetVerdictTimer
struct AttemptEnded {
  bool new_checkpoint;
};  // all its reports and its row are on disk
struct RetryDue {
  int attempt;
};  // armed by SetRetryTimer
struct RunEnded {};
struct StopRequested {
  Code code;
};  // kInterrupted or kTerminated
struct StorageFailed {
  Error error;
};
}  // namespace event
using Event =
    std::variant<event::Started, event::AttemptBegun, event::SpawnFailed, event::PhaseReached,
                 event::DeadlinePassed, event::Returned, event::Failed, event::Gone,
                 event::VerdictDue, event::AttemptEnded, event::RetryDue, event::RunEnded,
                 event::StopRequested, event::StorageFailed>;

namespace action {
struct BeginAttempt {
  int attempt;
};
struct SpawnGroup {
  int attempt;
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
struct SendExit {};
struct KillGroup {};
struct EndAttempt {
  RunState status;
  std::optional<GroupError> error;
};  // errored, finished or aborted
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
    std::variant<action::BeginAttempt, action::SpawnGroup, action::SendStart, action::SetDeadline,
                 action::ClearDeadline, action::SetVerdictTimer, action::SendExit,
                 action::KillGroup, action::EndAttempt, action::ReportFailure,
                 action::SetRetryTimer, action::EndRun, action::Finish>;

struct MachineOptions {
  int num_workers = 1;
  double start_timeout_s = 60;
};

struct RankState {
  Phase phase = Phase::kSpawn;
  bool returned = false;
  bool gone = false;
  std::optional<Error> error;
  double error_time_s = 0;
};

struct Machine {
  Machine(MachineOptions options, FailurePolicy policy) : options(options), policy(policy) {}

  MachineOptions options;
  FailurePolicy policy;
  RunState state = RunState::kInitializing;
  int attempt = 0;
  std::vector<RankState> ranks;      // of the attempt; empty while there is no group
  Phase slowest = Phase::kSpawn;     // the phase that every rank has reached
  bool ran = false;                  // every rank of the attempt reached its train function
  bool failing = false;              // a rank has failed; the verdict is due
  bool killed = false;               // SIGKILL went to the group
  bool attempt_ending = false;       // EndAttempt was given
  std::optional<Error> group_error;  // a failure that is no rank's: start-up deadline, storage
  int group_error_rank = -1;
  bool storage_failed = false;
  bool run_ending = false;          // EndRun was given
  std::optional<Code> stop;         // the run is being stopped
  std::optional<GroupError> error;  // of the attempt that just failed
};

struct Step {
  Machine machine;
  std::vector<Action> actions;
};

Step step(Machine machine, const Event& event);

// The cause among what the ranks said (invariant 3): the earliest error that is not peer_lost, else
// the earliest.
GroupError first_cause(const std::vector<RankState>& ranks);

}  // namespace rtrain
