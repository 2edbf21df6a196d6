// host/machine/libraries/gpu_state.h: the state of a GPU now, as a document.
#pragma once

#include "host/base/value.h"
#include "host/machine/libraries/nvml.h"

namespace rtrain::machine {

// {used_bytes, utilization_percent, power_w, power_limit_w, temperature_c, slowed_by, processes};
// nothing for values that the device does not give.
Map describe_gpu_state(const GpuState& state);

}  // namespace rtrain::machine
