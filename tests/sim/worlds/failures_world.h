// tests/sim/worlds/failures_world.h: the failing attempts of a simulated run, around
// host/decide/failure_policy.h.
//
// Failures of every kind follow each other, some with progress between them, and controllers are
// replaced. Every retry must have a budget, and every failure with a budget left must be retried.
#pragma once

#include <map>
#include <string>

#include "host/decide/failure_policy.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class FailuresWorld : public World {
 public:
  explicit FailuresWorld(Draws& draws);
  void live() override;

 private:
  decide::Failure make_failure();
  void fail();
  void replace_controller();
  void check_delay(double delay_s);

  Draws& draws_;
  decide::FailureLimits limits_;
  decide::FailurePolicy policy_;
  std::map<decide::FailureKind, int> counts_;
  int since_progress_ = 0;
  std::string last_;  // the last user error; empty after a failure of another kind
};

}  // namespace rtrain::sim
