// host/train/resources/run_gpus.h: the devices that a run may use: those that this process sees, of
// the requested type.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/machine/leases/gpu_request.h"
#include "host/train/run/run_spec.h"

namespace rtrain::train {

struct RunGpus {
  std::vector<int> numbers;  // this process's numbers
  std::vector<std::string> uuids;
  std::vector<std::string> names;
  int visible = 0;       // number of devices that this process sees, of any type
  std::string why_none;  // why there are none
};

// Initializes the driver in this process if the run requests GPUs.
RunGpus find_run_gpus(const RunSpec& spec);

// The error for worker variables that would override the workers' devices.
std::optional<Error> impossible_worker_env(const RunSpec& spec);

// The error for a run whose GPU request this node can never satisfy.
std::optional<Error> impossible_gpus(const RunSpec& spec);

}  // namespace rtrain::train
