// host/decide/stop_outcome.h: how a run or an attempt ends that was stopped. Pure.
#pragma once

#include <optional>
#include <string>

#include "host/decide/failure_policy.h"
#include "host/decide/group_state.h"
#include "host/decide/stop_agreement.h"

namespace rtrain::decide {

// A stop that is under way.
struct StopProgress {
  StopKind kind = StopKind::kInterrupt;
  std::string by = {};       // who asked for it
  bool seen = false;         // a rank was notified
  bool saved = false;        // a checkpoint was committed since the request
  bool out_of_time = false;  // the grace period passed
  int resize_to = 0;         // of kResize: the size that the group gets
};

// Whether a request of kind `next` counts where one of kind `current` is under way: an order from
// outside is stronger than a request of the run itself, and among those the first holds.
bool is_stronger(StopKind next, StopKind current);
// Somebody outside wants the run to end, however it goes: a failure under way is not retried.
bool is_from_outside(StopKind kind);

// The error of a run or attempt that such a stop ended: "interrupted", exit code 130; of one that
// came from elsewhere "stopped by" and who.
Error stop_error(const StopProgress& stop);

// A terminated run: preempted and worth another start when it could save, and when the budget for
// preemptions allows. `decision` is that budget's.
GroupError preemption_error(const StopProgress& stop, const FailureDecision& decision);

// A group that gave up cores and could not save within the grace period.
GroupError resize_error(int from, int to);

}  // namespace rtrain::decide
