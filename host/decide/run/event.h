// host/decide/run/event.h: what happens to a run. An event that has an `attempt` comes from a timer
// or from another thread, and may be late: it counts in that attempt only.
#pragma once

#include <optional>
#include <string>
#include <variant>

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
// The node of the rank is not to be used any more, or the group is to begin again for another
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

}  // namespace rtrain::decide
