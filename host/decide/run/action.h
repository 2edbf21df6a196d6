// host/decide/run/action.h: what the state machine of a run asks its controller to do.
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
struct TellResize {
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
struct TellDeath {
  int rank;
  DeathEffect effect = DeathEffect::kEnds;
  std::string because = {};  // of the effect, or empty
};
// No worker takes a lost rank's place, because of that: the others continue without it.
struct TellLeftOut {
  int rank;
  Error error;
};
// The other ranks are to go back to their last commit: Unwound.
struct Unwind {
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
struct TellHealed {};
struct SendExit {};
struct KillGroup {};
// `status`: errored, finished or aborted.
struct EndAttempt {
  RunState status;
  std::optional<GroupError> error;
};
struct TellFailure {
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
using Action = std::variant<
    action::RequestResources, action::BeginAttempt, action::SpawnGroup, action::SendStart,
    action::SetDeadline, action::ClearDeadline, action::SetVerdictTimer, action::SetResizeTimer,
    action::AskToStop, action::TellResize, action::AskToGrow, action::DropCarried,
    action::TellDeath, action::TellLeftOut, action::Unwind, action::KillRank, action::EndHealed,
    action::HealGroup, action::LookAgain, action::TellHealed, action::SendExit, action::KillGroup,
    action::EndAttempt, action::TellFailure, action::SetRetryTimer, action::EndRun, action::Finish>;

}  // namespace rtrain::decide
