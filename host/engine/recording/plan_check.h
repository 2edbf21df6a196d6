// host/engine/recording/plan_check.h: runs a plan next to the step and finds the first operator
// whose results differ.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/engine/recording/step_plan.h"

namespace rtrain::engine {

class PlanCheck {
 public:
  // Copies everything that the step may change: call it before the step.
  PlanCheck(const StepPlan& plan, std::span<const at::Tensor> arguments);

  // Runs the plan on these copies and compares it with the step's record, whose calls kept their
  // results. Random numbers are the step's, and so is what its effects changed: ranks exchange
  // tensors once. Returns what differs. Call it once.
  std::optional<std::string> difference(const Record& eager, std::span<const double> rates);

 private:
  Record recorded_;
  Record copy_;
  std::vector<at::Tensor> arguments_;
  std::vector<at::Tensor> random_states_;  // of the generators, before the step
};

}  // namespace rtrain::engine
