// tests/sim/failures_world.h: attempts of a run that fail, simulated, around
// host/decide/failure_policy.h.
//
// Failures of every kind come after each other, some with progress between them, and controllers
// are replaced. What is tried again must have a budget, and what has one must be tried again.
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
  Failure make_failure();
  void fail();
  void replace_controller();
  void check_delay(double delay_s);

  Draws& draws_;
  FailureLimits limits_;
  FailurePolicy policy_;
  std::map<FailureKind, int> counts_;
  int since_progress_ = 0;
  std::string last_;  // of the user's errors: what it was; empty for another one
};

}  // namespace rtrain::sim
