// host/decide/stop_outcome.h: how a run or an attempt ends after a request to stop. Pure.
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
  std::string by = {};       // who requested it
  bool seen = false;         // stop_requested() has returned true to a rank
  bool saved = false;        // a checkpoint was committed since the request
  bool out_of_time = false;  // the grace period has passed
  int resize_to = 0;         // of kResize: the new number of workers
};

// Whether a request of kind `next` replaces one of kind `current`. A request from outside is
// stronger than RunConfig.stop, which is stronger than a resize. Of equals the first one counts.
bool is_stronger(StopKind next, StopKind current);
// Whether a user or the system requests it. Then a failure during the stop is not retried.
bool is_from_outside(StopKind kind);

// The error of a run or attempt that a stop from outside has ended: "terminated" for kTerminate,
// "stopped by" and who for kOperator, "interrupted" for kInterrupt.
Error stop_error(const StopProgress& stop);

// The error of a run that was terminated. `decision` is that of the budget for preemptions. Where
// it allows a retry and a checkpoint was saved, the code is kPreempted, else kTerminated.
GroupError preemption_error(const StopProgress& stop, const FailureDecision& decision);

// The error of a group that lost cores and could not save within the grace period.
GroupError resize_error(int from, int to);

}  // namespace rtrain::decide
