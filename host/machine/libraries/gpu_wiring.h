// host/machine/libraries/gpu_wiring.h: how the GPUs of this node are connected, as a document.
#pragma once

#include "host/base/value.h"
#include "host/machine/libraries/nvml.h"

namespace rtrain::machine {

// Returns for each device {uuid, bus, pcie_generation, pcie_width, nvlink_gb_s, switch_links,
// peer_links}, as in GpuWiring.
List describe_gpu_wiring(const Nvml& nvml);

}  // namespace rtrain::machine
