// host/decide/run/action.h: the actions that the state machine of a run requests. Controller
// (host/train/controller.h) carries them out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/base/error.h"
#include "host/decide/failure_policy.h"
#include "host/decide/group_state.h"
#include "host/decide/run/stage.h"
#include "host/decide/stop_agreement.h"

namespace rtrain::decide {

namespace action {
// Requests resources for min to max workers. Answered with ResourcesGranted as soon as there are
// such resources, possibly at once; with ResourcesRefused if there can never be.
struct RequestResources {
  int min_workers;
  int max_workers;
};
// Writes the attempt's row. Answered with AttemptBegun.
struct BeginAttempt {
  int attempt;
  int num_workers;
  // In a heal, or when the attempt continues from a commit: the number of its first report.
  std::optional<int64_t> first_index = {};
  bool carries = false;  // it continues from a commit of the ranks
};
// Starts the processes. Answered with PhaseReached of each rank, or with SpawnFailed.
struct SpawnGroup {
  int attempt;
  int num_workers;
};
// Sends the rank its train function and its context.
struct SendStart {
  int rank;
};
// Answered with DeadlinePassed after this time, unless ClearDeadline or SetDeadline comes before.
struct SetDeadline {
  double seconds;
};
struct ClearDeadline {};
// Answered with VerdictDue after this time.
struct SetVerdictTimer {
  double seconds;
};
// Answered with ResourcesSeen after this time.
struct SetResizeTimer {
  double seconds;
};
// Begins the graceful shutdown. When it is under way only its grace period begins again.
struct AskToStop {
  StopKind kind;
};
// Reports that the group will get another size: at its next commit of train.elastic (`at_commit`),
// else after its next checkpoint.
struct TellResize {
  int from;
  int to;
  bool at_commit = false;
};
// Asks the ranks to go back to their next commit and to write it to the disk. Each answers with
// Unwound. `is` false: withdraws the request.
struct AskToGrow {
  bool is = true;
  bool is_in_place = false;  // nothing is written: the processes stay
};
// Deletes the state that the smaller group has written: all ranks of the larger group hold it.
struct DropCarried {};
// Reports that a rank has died, and what happens to the other ranks.
struct TellDeath {
  int rank;
  DeathEffect effect = DeathEffect::kEnds;
  std::string because = {};  // the reason of the effect, or empty
};
// Reports that the others continue without a lost rank: no worker can take its place, by `error`.
struct TellLeftOut {
  int rank;
  Error error;
};
// Asks all ranks but this one to go back to their last commit. Each answers with Unwound.
struct Unwind {
  int rank;
};
// Ends the process of this rank. Answered with Gone.
struct KillRank {
  int rank;
};
// Closes the row of the attempt that a heal ends. Its processes live. Answered with AttemptEnded.
struct EndHealed {
  GroupError error;
  int64_t next_index;  // of the first report of the next attempt
};
// Lets the remaining processes continue in this attempt: rank kept[i] of the attempt before becomes
// rank i. The ranks in `lost` get new processes.
struct HealGroup {
  int attempt;
  std::vector<int> kept;
  std::vector<int> lost;        // their new numbers
  std::vector<int> moved = {};  // those of them that get them on another node: that of RoomFound
};
// Looks for nodes that have room for these ranks, whose nodes are lost. Answered with RoomFound as
// soon as there are, unless FindRoom or KillGroup comes before.
struct FindRoom {
  std::vector<int> ranks;
};
// Reports that there were none in time: the others do not continue.
struct TellNoRoom {
  std::vector<int> ranks;
};
// Answered with HealDue, as soon as the present event is over.
struct LookAgain {};
// All ranks hold a commit: a process is to be ready on each node for the place of the next lost
// rank. `are` false: lost ranks will not be replaced any more.
struct KeepSpares {
  bool are = true;
};
// Reports that all ranks hold the state again.
struct TellHealed {};
// Lets the workers end: all have returned. Each is answered with Gone.
struct SendExit {};
// Ends all processes of the group. Each is answered with Gone.
struct KillGroup {};
// Closes the attempt's row, once its reports are written. Answered with AttemptEnded. `status`:
// errored, finished or aborted.
struct EndAttempt {
  RunState status;
  std::optional<GroupError> error;
};
// Reports that the attempt has failed, and whether there is another one.
struct TellFailure {
  GroupError error;
  FailureDecision decision;
};
// Answered with RetryDue after this time.
struct SetRetryTimer {
  double seconds;
};
// Closes the run's row. Answered with RunEnded.
struct EndRun {
  RunState status;
  std::optional<GroupError> error;
};
// The run is over: the last action.
struct Finish {
  RunState status;
  std::optional<GroupError> error;
};
}  // namespace action
using Action = std::variant<
    action::RequestResources, action::BeginAttempt, action::SpawnGroup, action::SendStart,
    action::SetDeadline, action::ClearDeadline, action::SetVerdictTimer, action::SetResizeTimer,
    action::AskToStop, action::TellResize, action::AskToGrow, action::DropCarried,
    action::TellDeath, action::TellLeftOut, action::Unwind, action::KillRank, action::EndHealed,
    action::HealGroup, action::FindRoom, action::TellNoRoom, action::LookAgain, action::KeepSpares,
    action::TellHealed, action::SendExit, action::KillGroup, action::EndAttempt,
    action::TellFailure, action::SetRetryTimer, action::EndRun, action::Finish>;

}  // namespace rtrain::decide
