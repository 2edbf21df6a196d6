#include "host/node/workers/allotted_places.h"

#include <algorithm>
#include <cmath>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/lua/libraries/cuda_loader.h"
#include "host/machine/leases/gpu_request.h"
#include "host/machine/libraries/cuda_driver.h"

namespace rtrain::node {

std::vector<WorkerGpu> own_gpus() {
  std::vector<WorkerGpu> out;
  if (lua::cuda_support().devices == 0) return out;
  for (const machine::CudaDevice& device : machine::cuda_driver().devices) {
    out.push_back({static_cast<int>(out.size()), device.uuid, device.name});
  }
  return out;
}

AllottedPlaces::AllottedPlaces(std::vector<WorkerGpu> gpus, double gpus_per_worker,
                               std::string_view accelerator_type)
    : gpus_(std::move(gpus)), gpus_per_worker_(gpus_per_worker) {
  if (accelerator_type.empty()) return;
  std::erase_if(gpus_, [accelerator_type](const WorkerGpu& gpu) {
    return !machine::is_accelerator(gpu.name, accelerator_type);
  });
}

// With fractions of a device, consecutive workers share one.
WorkerPlace AllottedPlaces::place(int local_rank, int num_workers) const {
  WorkerPlace out;
  const double first = local_rank * gpus_per_worker_;
  const auto count = static_cast<int>(std::ceil(gpus_per_worker_));
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(first) + static_cast<size_t>(i);
    if (at >= gpus_.size()) {
      throw Error(Code::kEnvironment,
                  cat("use_gpu: ", num_workers, " workers with ", gpus_per_worker_,
                      " GPUs each on a node that has ", gpus_.size()));
    }
    out.gpus.push_back(gpus_[at]);
  }
  return out;
}

std::optional<std::string> AllottedPlaces::visible_devices() const {
  if (gpus_per_worker_ > 0) return std::nullopt;
  return "";
}

}  // namespace rtrain::node
