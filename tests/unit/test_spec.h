// tests/unit/test_spec.h: a run's specification for tests: the defaults of modules/rtrain/config/,
// one worker, and no node checks.
#pragma once

#include <string>
#include <utility>

#include "host/train/run/run_spec.h"

namespace rtrain {

inline train::RunSpec test_spec(std::string name) {
  train::RunSpec spec;
  spec.name = std::move(name);
  spec.start_timeout_s = 60;
  spec.elastic_resize_monitor_interval_s = 60;
  spec.timeout_s = 1800;
  spec.backend = "cpu:shm,cuda:gloo";
  spec.failure_config = {.max_heals = -1,
                         .controller_failure_limit = 3,
                         .max_preemption_failures = -1,
                         .preemption_grace_s = 30,
                         .hang_threshold_s = 600,
                         .busy_threshold_s = 600,
                         .node_timeout_s = 30,
                         .straggler = decide::StragglerPolicy::kWarn};
  return spec;
}

}  // namespace rtrain
