// host/decide/run/event.h: the events of a run, which the controller feeds to step(). An event with
// an `attempt` comes from a timer or another thread and may be late: it counts in its attempt only.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/base/error.h"
#include "host/decide/failure_policy.h"
#include "host/decide/group_state.h"
#include "host/decide/stop_agreement.h"

namespace rtrain::decide {

namespace event {
// The run's row is on disk.
struct Started {};
// The resources of RequestResources are held.
struct ResourcesGranted {
  int num_workers;
};
// There can never be such resources.
struct ResourcesRefused {
  Error error;
};
// The attempt's row is on disk.
struct AttemptBegun {};
// A node could not start the ranks from `rank` to before `end`.
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
// The time of SetDeadline has passed.
struct DeadlinePassed {
  int attempt;
};
// The rank's train function has returned.
struct Returned {
  int rank;
};
// The rank's train function has raised an error.
struct Failed {
  int rank;
  Error error;
  double time_s;
};
// The rank's main thread has ended and all its messages have come. Gone follows with its status.
struct Dying {
  int rank;
  double time_s;
};
// The rank's process has ended and all its messages have come.
struct Gone {
  int rank;
  Error error;
  double time_s;
  bool has_host = true;   // its node can start processes
  bool can_move = false;  // a process on another node can take its place
};
// The time of SetVerdictTimer has passed.
struct VerdictDue {
  int attempt;
};
struct CheckpointCommitted {
  int attempt;
};
// The rank now holds a committed step of train.elastic, or no longer (`is` false).
struct Healable {
  int rank;
  bool is;
  std::string fixed = {};  // why it cannot continue in a smaller group; empty: it can
};
// LookAgain has requested this.
struct HealDue {
  int attempt;
};
// Nodes with room for these ranks are there, as FindRoom has requested.
struct RoomFound {
  int attempt;
  std::vector<int> ranks;
};
// The rank has gone back to its last commit, because another rank is lost or the group grows.
struct Unwound {
  int rank;
  Unwinding unwinding;
};
// The time of SetResizeTimer has passed.
struct ResourcesSeen {
  int attempt;
  int capacity;  // the number of workers that could run, the present ones included
};
// All reports of the attempt and its closed row are on disk.
struct AttemptEnded {
  bool new_checkpoint;
  double ran_s = 0;  // from when all ranks ran; 0: they never did
};
// The time of SetRetryTimer has passed.
struct RetryDue {
  int attempt;
};
// The run's closed row is on disk.
struct RunEnded {};
struct StopRequested {
  StopKind kind;
  std::string by = {};  // who requested it
};
// stop_requested() has returned true to a rank.
struct StopSeen {};
// The graceful shutdown that AskToStop began has saved a checkpoint: the group can be ended.
struct StopComplete {
  int attempt;
};
// It has not saved one within the grace period.
struct GracePassed {
  int attempt;
};
// A second signal, or rtrain stop --now: the group is ended without asking the ranks.
struct StopNow {
  StopKind kind;
  std::string by = {};
};
// The run store or the run's folder cannot be written any more.
struct StorageFailed {
  Error error;
};
// The attempt is to end although no rank has failed: the rank's node is not to be used any more, or
// the group is to start again.
struct NodeUnhealthy {
  int rank;
  Error error;
  FailureKind kind;
};
// The rank slows the others down, and another process is to take its place if the others can go on
// meanwhile. Once for each rank of the run.
struct RankSlow {
  int rank;
};
// The virtual ranks are to be divided in another way among the processes. The event comes again
// until the ranks were asked to (AskToGrow).
struct Unbalanced {};
}  // namespace event
using Event =
    std::variant<event::Started, event::ResourcesGranted, event::ResourcesRefused,
                 event::AttemptBegun, event::SpawnFailed, event::PhaseReached,
                 event::DeadlinePassed, event::Returned, event::Failed, event::Dying, event::Gone,
                 event::VerdictDue, event::CheckpointCommitted, event::Healable, event::HealDue,
                 event::RoomFound, event::Unwound, event::ResourcesSeen, event::AttemptEnded,
                 event::RetryDue, event::RunEnded, event::StopRequested, event::StopSeen,
                 event::StopComplete, event::GracePassed, event::StopNow, event::StorageFailed,
                 event::NodeUnhealthy, event::RankSlow, event::Unbalanced>;

}  // namespace rtrain::decide
