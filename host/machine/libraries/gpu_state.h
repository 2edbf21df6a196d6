// host/machine/libraries/gpu_state.h: the present state of a GPU, as a document.
#pragma once

#include "host/base/value.h"
#include "host/machine/libraries/nvml.h"

namespace rtrain::machine {

// Returns {used_bytes, utilization_percent, power_w, power_limit_w, temperature_c, slowed_by,
// processes}, without the values that the device does not report.
Map describe_gpu_state(const GpuState& state);

}  // namespace rtrain::machine
