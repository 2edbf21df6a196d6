#include "host/decide/stop_outcome.h"

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

int strength(StopKind kind) {
  if (kind == StopKind::kResize) return 0;
  return kind == StopKind::kPredicate ? 1 : 2;
}

}  // namespace

bool is_stronger(StopKind next, StopKind current) { return strength(next) > strength(current); }

bool is_from_outside(StopKind kind) { return strength(kind) == 2; }

Error stop_error(const StopProgress& stop) {
  if (stop.kind == StopKind::kTerminate) return Error(Code::kTerminated, "terminated");
  if (stop.kind == StopKind::kOperator) {
    return Error(Code::kInterrupted, cat("stopped by ", stop.by));
  }
  return Error(Code::kInterrupted, "interrupted");
}

GroupError preemption_error(const StopProgress& stop, const FailureDecision& decision) {
  GroupError out;
  out.kind = FailureKind::kPreemption;
  out.cause = stop_error(stop);
  if (!decision.retry) {
    out.cause =
        Error(Code::kTerminated, cat("terminated, and not to be run again: ", decision.reason));
  } else if (stop.saved) {
    out.cause = Error(Code::kPreempted, "preempted: a checkpoint was saved, to go on from");
  }
  return out;
}

GroupError resize_error(int from, int to) {
  GroupError out;
  out.kind = FailureKind::kPreemption;
  out.cause = Error(Code::kPreempted, cat("the cores of ", from - to, " of ", from,
                                          " workers were taken away, and no checkpoint was saved "
                                          "within FailureConfig.preemption_grace_s"));
  return out;
}

}  // namespace rtrain::decide
