#include "host/train/resources/run_gpus.h"

#include "host/base/text/text.h"
#include "host/lua/libraries/cuda_loader.h"
#include "host/machine/libraries/cuda_driver.h"
#include "host/node/workers/worker_place.h"

namespace rtrain::train {

RunGpus find_run_gpus(const RunSpec& spec) {
  RunGpus out;
  if (spec.gpus_per_worker == 0) return out;
  out.why_none = lua::cuda_support().reason;
  if (lua::cuda_support().devices == 0) return out;
  const std::vector<machine::CudaDevice>& devices = machine::cuda_driver().devices;
  out.visible = static_cast<int>(devices.size());
  for (int number = 0; number < out.visible; ++number) {
    const machine::CudaDevice& device = devices[static_cast<size_t>(number)];
    if (!spec.accelerator_type.empty() &&
        !machine::is_accelerator(device.name, spec.accelerator_type)) {
      out.why_none = cat("accelerator_type = '", spec.accelerator_type,
                         "', and the devices here are ", devices.front().name);
      continue;
    }
    out.numbers.push_back(number);
    out.uuids.push_back(device.uuid);
    out.names.push_back(device.name);
  }
  return out;
}

std::optional<Error> impossible_worker_env(const RunSpec& spec) {
  for (const auto& [name, value] : spec.worker_env) {
    if (name != node::kVisibleDevices || spec.gpus_per_worker == 0) continue;
    return Error(Code::kConfig, cat("worker_env: ", name, " = '", value,
                                    "': with use_gpu the workers see what they were given; set it "
                                    "for the command instead"));
  }
  return std::nullopt;
}

std::optional<Error> impossible_gpus(const RunSpec& spec) {
  if (auto error = impossible_worker_env(spec)) return error;
  const RunGpus gpus = find_run_gpus(spec);
  return machine::GpuRequest(spec.min_workers, spec.max_workers, spec.gpus_per_worker)
      .impossible(gpus.names, gpus.why_none);
}

}  // namespace rtrain::train
