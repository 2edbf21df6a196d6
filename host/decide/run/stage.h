// host/decide/run/stage.h: how far a run has come. Each stage has the data that is valid in it
// alone.
//
//   Initializing → Requesting → Beginning → Starting → Running → Returning → Closing → Ending →
//   Over
//                       ↑                                  └→ Killed ────────↗ │
//                       └──────────────────── Pausing ←────────────────────────┘
//
// In place of Running a run may be Growing or Stopping: its ranks were asked to. A heal goes
//
//   Unwinding → Recording → Reopening → Replacing → Starting
//
// and a growth at a commit goes Growing → Gathering → Killed, one of as many workers as before
// Growing → Gathering → Recording. Processes exist from Starting to
// Killed, and during a heal or a growth.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "host/decide/group_state.h"

namespace rtrain::decide {

// The state of a run that users see.
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
// Whether a run in this state is over.
bool is_end(RunState state);

namespace stage {
// The run's row is being written.
struct Initializing {};
// RequestResources is not answered yet.
struct Requesting {
  RunState state;                        // INITIALIZING, RESTARTING, RESCHEDULING or RESIZING
  std::optional<GroupError> error = {};  // of the attempt before
};
// The attempt has failed. The next one begins at RetryDue.
struct Pausing {
  RunState state;                   // RESTARTING or RESCHEDULING
  std::optional<GroupError> error;  // of the attempt
};
// The attempt's row is being written.
struct Beginning {};

// All processes, or in a heal the new ones, are on their way to the train function.
struct Starting {};
// All ranks are in the train function.
struct Running {};
// The group is to get more workers, at the commit that a rank goes back to. With as many as before
// it goes on in the same processes, which share the virtual ranks in another way.
struct Growing {
  int to;
};
// The ranks were asked to stop.
struct Stopping {};

// The remaining ranks go back to their last commit.
struct Unwinding {
  RunState state;  // the one before the heal: SCHEDULING or RUNNING
};
// They have gone back. The row of the attempt is being closed.
struct Recording {
  int64_t next_index;        // of the first report of the next attempt
  bool kill_is_due = false;  // the group is to be ended once the rows are written
};
// The row of the next attempt is being written.
struct Reopening {
  bool kill_is_due;
};
// Some processes of lost ranks have not ended yet, or their node is lost and no other one has room.
struct Replacing {
  std::vector<int> moving = {};  // the ranks for which such a node was asked for
  bool has_room = false;         // there is one
};
// The ranks go back to the commit at which the group grows.
struct Gathering {
  int to;
};

// All ranks have returned; their processes are to end.
struct Returning {};
// The processes are being ended; some have not ended yet.
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

// The state of a run in this stage. `is_terminated`: a stop of kind kTerminate is under way.
RunState state_of(const Stage& stage, bool is_terminated);
// The error in the stage: of the last attempt or of the run; nullopt without one.
std::optional<GroupError> error_of(const Stage& stage);

// Whether there is a group: processes run, or have just ended.
bool has_group(const Stage& stage);
// Whether all ranks are in the train function, and no heal is under way.
bool is_running(const Stage& stage);
// Whether a heal or a growth is under way and the new group does not exist yet.
bool is_regrouping(const Stage& stage);
// Whether no process runs and no row of an attempt is being written.
bool is_between_attempts(const Stage& stage);
// Whether the run's outcome is known.
bool is_ending(const Stage& stage);

}  // namespace rtrain::decide
