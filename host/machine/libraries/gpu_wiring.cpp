#include "host/machine/libraries/gpu_wiring.h"

#include <utility>

namespace rtrain::machine {

List describe_gpu_wiring(const Nvml& nvml) {
  List out;
  for (const Gpu& gpu : nvml.gpus()) {
    const GpuWiring wiring = nvml.wiring(gpu.uuid);
    List peers;
    for (const std::string& bus : wiring.peer_links) peers.push_back(bus);
    out.push_back(Map{{"uuid", gpu.uuid},
                      {"bus", wiring.bus},
                      {"pcie_generation", wiring.pcie_generation},
                      {"pcie_width", wiring.pcie_width},
                      {"nvlink_gb_s", wiring.nvlink_gb_s},
                      {"switch_links", wiring.switch_links},
                      {"peer_links", std::move(peers)}});
  }
  return out;
}

}  // namespace rtrain::machine
