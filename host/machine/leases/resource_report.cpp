#include "host/machine/leases/resource_report.h"

#include <string>
#include <vector>

#include "host/machine/leases/gpu_request.h"
#include "host/machine/leases/lease.h"
#include "host/machine/libraries/cuda_driver.h"
#include "host/machine/libraries/gpu_state.h"
#include "host/machine/libraries/nvml.h"
#include "host/machine/machine.h"

namespace rtrain::machine {
namespace {

double of_whole(int share) { return static_cast<double>(share) / kWholeGpu; }

// Returns the management library's answers about the device of that UUID; nil without answers.
Value describe_state(const Nvml& nvml, const std::string& uuid) {
  const GpuState state = nvml.state(uuid);
  return state.used_bytes ? Value(describe_gpu_state(state)) : Value();
}

// Describes the devices that this process sees: [{index, uuid, name, free, state}].
List describe_gpus(const LeaseTable& table) {
  List out;
  const Nvml nvml;
  for (const CudaDevice& device : cuda_driver().devices) {
    int free = kWholeGpu;
    for (const HeldGpu& gpu : table.gpus) free -= gpu.uuid == device.uuid ? gpu.share : 0;
    out.emplace_back(Map{{"index", static_cast<int64_t>(out.size())},
                         {"uuid", device.uuid},
                         {"name", device.name},
                         {"free", of_whole(free)},
                         {"state", describe_state(nvml, device.uuid)}});
  }
  return out;
}

List describe_shares(const std::vector<HeldGpu>& gpus) {
  List out;
  for (const HeldGpu& gpu : gpus) {
    out.emplace_back(Map{{"uuid", gpu.uuid}, {"share", of_whole(gpu.share)}});
  }
  return out;
}

}  // namespace

Value read_resources() {
  const LeaseTable table = read_lease_table();
  List leases;
  for (const LeaseShare& share : table.shares()) {
    leases.emplace_back(Map{{"run", share.holder.run},
                            {"pid", share.holder.pid},
                            {"cores", List(share.cores.begin(), share.cores.end())},
                            {"gpus", describe_shares(share.gpus)}});
  }
  List waiting;
  for (const LeaseHolder& holder : table.waiting) {
    waiting.emplace_back(Map{{"run", holder.run}, {"pid", holder.pid}});
  }
  const Map cpus{{"host", available_cores()}, {"offered", table.offered}, {"free", table.free()}};
  return Map{{"cpus", cpus},
             {"gpus", describe_gpus(table)},
             {"leases", std::move(leases)},
             {"waiting", std::move(waiting)}};
}

}  // namespace rtrain::machine
