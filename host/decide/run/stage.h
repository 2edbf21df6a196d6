// host/decide/run/stage.h: how far a run has come. Each stage has the data that is valid in it
// alone.
//
//   Initializing → Requesting → Beginning → Starting → Running → Returning → Closing → Ending →
//   Over
//                       ↑                                  └→ Killed ────────↗ │
//                       └──────────────────── Pausing ←────────────────────────┘
//
// Running may also be Growing or Stopping: the ranks have been asked for something. A heal goes
//
//   Unwinding → Recording → Reopening → Replacing → Starting
//
// and a growth at a commit Growing → Gathering → Killed. Processes exist from Starting to Killed,
// except for these lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "host/decide/group_state.h"

namespace rtrain::decide {

// A stage, as users see it.
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
// The run has come to its end.
bool is_end(RunState state);

namespace stage {
// The run's row is being written.
struct Initializing {};
// RequestResources is not answered.
struct Requesting {
  RunState state;                        // INITIALIZING, RESTARTING, RESCHEDULING or RESIZING
  std::optional<GroupError> error = {};  // of the attempt before
};
// A failed attempt is tried again, at RetryDue.
struct Pausing {
  RunState state;                   // RESTARTING or RESCHEDULING
  std::optional<GroupError> error;  // of the attempt; a resize has none
};
// The attempt's row is being written.
struct Beginning {};

// The processes are on their way to the train function, or those that replace lost ones.
struct Starting {};
// All are in it.
struct Running {};
// As soon as a rank goes back to a commit, the group gets more workers there.
struct Growing {
  int to;
};
// The ranks know that they are to stop.
struct Stopping {};

// The ranks that are left go back to their last commit.
struct Unwinding {
  RunState state;  // SCHEDULING or RUNNING, as it was
};
// They have. The row of the attempt is being closed.
struct Recording {
  int64_t next_index;        // of the first report of the next one
  bool kill_is_due = false;  // once the rows are written
};
// The row of the next one is being written.
struct Reopening {
  bool kill_is_due;
};
// Processes of lost ranks have not ended yet.
struct Replacing {};
// The ranks go back to the commit at which the group grows.
struct Gathering {
  int to;
};

// All ranks have returned; their processes are to end.
struct Returning {};
// The processes were ended, and some are still there.
struct Killed {};
// No process is left. The attempt's row is being closed.
struct Closing {
  std::optional<GroupError> error;  // of the attempt
};
// The run's row is being closed.
struct Ending {
  RunState outcome;
  std::optional<GroupError> error;
};
struct Over {
  RunState outcome;
  std::optional<GroupError> error;
};
}  // namespace stage
using Stage =
    std::variant<stage::Initializing, stage::Requesting, stage::Pausing, stage::Beginning,
                 stage::Starting, stage::Running, stage::Growing, stage::Stopping, stage::Unwinding,
                 stage::Recording, stage::Reopening, stage::Replacing, stage::Gathering,
                 stage::Returning, stage::Killed, stage::Closing, stage::Ending, stage::Over>;

// Whether the stage is one of these.
template <class... Stages>
bool is_any(const Stage& stage) {
  return (std::holds_alternative<Stages>(stage) || ...);
}

// `is_terminated`: by a stop of kind kTerminate.
RunState state_of(const Stage& stage, bool is_terminated);
// Of the last attempt or of the run.
std::optional<GroupError> error_of(const Stage& stage);

// There is a group: processes run, or have just ended.
bool has_group(const Stage& stage);
// All its ranks are in the train function, and no heal is under way.
bool is_running(const Stage& stage);
// A heal or a growth is under way, and the new group does not exist yet.
bool is_regrouping(const Stage& stage);
// No process and no row that is being written.
bool is_between_attempts(const Stage& stage);
// The run's outcome is known.
bool is_ending(const Stage& stage);

}  // namespace rtrain::decide
