#include "host/decide/slow/straggler_policy.h"

namespace rtrain::decide {
namespace {

// Whether the cause is the rank's process or node, and not the script, which would be as slow
// elsewhere.
bool is_of_place(SlowCause cause) {
  switch (cause) {
    case SlowCause::kData:
    case SlowCause::kCheckpoint:
    case SlowCause::kOther:
      return false;
    case SlowCause::kCompute:
    case SlowCause::kStopped:
    case SlowCause::kThrottled:
    case SlowCause::kDevice:
    case SlowCause::kCores:
    case SlowCause::kStolen:
    case SlowCause::kMemory:
    case SlowCause::kLink:
      return true;
  }
  return false;
}

}  // namespace

StragglerAction straggler_action(StragglerPolicy policy, const Straggler& found, bool may_evict) {
  if (policy == StragglerPolicy::kIgnore) return StragglerAction::kNone;
  if (policy != StragglerPolicy::kEvict || found.has_passed || !is_of_place(found.cause)) {
    return StragglerAction::kTell;
  }
  if (may_evict) return StragglerAction::kEvict;
  const bool is_of_node = found.cause == SlowCause::kLink;  // another process would have it too
  return is_of_node ? StragglerAction::kTell : StragglerAction::kReplace;
}

}  // namespace rtrain::decide
