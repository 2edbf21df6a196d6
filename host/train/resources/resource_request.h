// host/train/resources/resource_request.h: a run's request for cores and GPUs of its node.
// Pure.
#pragma once

#include <optional>

#include "host/decide/core_request.h"
#include "host/machine/leases/gpu_request.h"
#include "host/machine/leases/lease.h"

namespace rtrain::train {

class ResourceRequest {
 public:
  // cores_per_worker 0: not specified. Throws Error(kConfig) for invalid amounts of GPUs.
  ResourceRequest(int min_workers, int max_workers, int cores_per_worker, double gpus_per_worker);

  // The resources of a group, and its size.
  struct Grant {
    int workers = 0;
    int cores = 0;
    machine::GpuPlaces gpus;  // one entry for each worker

    machine::LeaseRequest request(int share) const;
  };
  // The largest group that the capacity allows; nullopt if it is not enough. `offered`: cores
  // available to all runs together.
  std::optional<Grant> grant(const machine::LeaseCapacity& capacity, int offered) const;
  // The number of workers that could run with this capacity.
  int workers(const machine::LeaseCapacity& capacity) const;

  const decide::CoreRequest& cores() const { return cores_; }
  const machine::GpuRequest& gpus() const { return gpus_; }

 private:
  int min_workers_;
  decide::CoreRequest cores_;
  machine::GpuRequest gpus_;
};

}  // namespace rtrain::train
