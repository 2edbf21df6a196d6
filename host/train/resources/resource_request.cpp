#include "host/train/resources/resource_request.h"

#include <algorithm>

namespace rtrain::train {

ResourceRequest::ResourceRequest(int min_workers, int max_workers, int cores_per_worker,
                                 double gpus_per_worker)
    : min_workers_(min_workers),
      cores_(min_workers, max_workers, cores_per_worker),
      gpus_(min_workers, max_workers, gpus_per_worker) {}

machine::LeaseRequest ResourceRequest::Grant::request(int share) const {
  machine::LeaseRequest out{cores, {}};
  for (const std::vector<int>& devices : gpus) {
    for (const int device : devices) out.gpus.push_back({device, share});
  }
  return out;
}

std::optional<ResourceRequest::Grant> ResourceRequest::grant(const machine::LeaseCapacity& capacity,
                                                             int offered) const {
  const int most = gpus_.workers(capacity.gpus);
  if (most < min_workers_) return std::nullopt;
  const decide::CoreRequest::Amount amount = cores_.amount(offered);
  if (capacity.cores < amount.min) return std::nullopt;
  Grant out;
  out.cores = std::min(capacity.cores, amount.max);
  out.workers = std::min(most, cores_.workers(out.cores));
  if (out.workers < cores_.workers(out.cores)) out.cores = cores_.amount_for(out.workers);
  auto places = gpus_.place(capacity.gpus, out.workers);
  if (!places) return std::nullopt;
  out.gpus = std::move(*places);
  return out;
}

int ResourceRequest::workers(const machine::LeaseCapacity& capacity) const {
  return std::min(gpus_.workers(capacity.gpus), cores_.workers(std::max(0, capacity.cores)));
}

}  // namespace rtrain::train
