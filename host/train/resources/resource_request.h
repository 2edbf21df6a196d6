// host/train/resources/resource_request.h: the request of a run to its host, cores and GPUs
// together. Pure.
#pragma once

#include <optional>

#include "host/decide/core_request.h"
#include "host/machine/leases/gpu_request.h"
#include "host/machine/leases/lease.h"

namespace rtrain {

class ResourceRequest {
 public:
  // cores_per_worker 0: not said. Throws Error(kConfig) for odd amounts of GPUs.
  ResourceRequest(int min_workers, int max_workers, int cores_per_worker, double gpus_per_worker);

  // What a group has, and how large it is.
  struct Grant {
    int workers = 0;
    int cores = 0;
    GpuPlaces gpus;  // one entry for each worker

    LeaseRequest request(int share) const;
  };
  // As large a group as the capacity allows; nothing: there is not enough. `offered` cores are
  // there for all runs together.
  std::optional<Grant> grant(const LeaseCapacity& capacity, int offered) const;
  // The workers that could run in this capacity.
  int workers(const LeaseCapacity& capacity) const;

  const CoreRequest& cores() const { return cores_; }
  const GpuRequest& gpus() const { return gpus_; }

 private:
  int min_workers_;
  CoreRequest cores_;
  GpuRequest gpus_;
};

}  // namespace rtrain
