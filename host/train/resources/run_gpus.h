// host/train/resources/run_gpus.h: the devices that a run may use: those that this process sees, of
// the type that it asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/machine/leases/gpu_request.h"
#include "host/train/run/run_spec.h"

namespace rtrain {

struct RunGpus {
  std::vector<int> numbers;  // as this process counts them
  std::vector<std::string> uuids;
  std::vector<std::string> names;
  int visible = 0;       // all that this process sees, of any type
  std::string why_none;  // where there are none
};

// Starts the driver in this process where the run asks for GPUs.
RunGpus find_run_gpus(const RunSpec& spec);

// The error of variables for the workers that would take from them what they were given.
std::optional<Error> impossible_worker_env(const RunSpec& spec);

// The error of a run that can never have its GPUs on this host.
std::optional<Error> impossible_gpus(const RunSpec& spec);

}  // namespace rtrain
