// host/machine/libraries/gpu_state.h: what a GPU does now, as a document.
#pragma once

#include "host/base/value.h"
#include "host/machine/libraries/nvml.h"

namespace rtrain {

// {used_bytes, utilization_percent, power_w, power_limit_w, temperature_c, slowed_by, processes};
// nothing for what the device does not say.
Map describe_gpu_state(const GpuState& state);

}  // namespace rtrain
