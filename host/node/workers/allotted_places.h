// host/node/workers/allotted_places.h: shares among workers what a launcher has allotted on this
// host. It is the job's alone, so nothing is leased.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/node/workers/worker_place.h"

namespace rtrain {

// The devices that this process sees, as it numbers them. Starts the driver, where there is one.
std::vector<WorkerGpu> own_gpus();

class AllottedPlaces : public WorkerPlaces {
 public:
  // `gpus`: the devices of this host, as this process numbers them. `gpus_per_worker`: a part of
  // one below 1. `accelerator_type`: what the devices that workers get have to be; empty: any.
  AllottedPlaces(std::vector<WorkerGpu> gpus, double gpus_per_worker,
                 std::string_view accelerator_type);

  // No cores of its own. Throws Error(kEnvironment) where the host has not enough devices.
  WorkerPlace place(int local_rank, int num_workers) const override;
  std::optional<std::string> visible_devices() const override;

 private:
  std::vector<WorkerGpu> gpus_;
  double gpus_per_worker_;
};

}  // namespace rtrain
