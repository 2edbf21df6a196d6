// host/node/workers/allotted_places.h: divides a launcher's allotment on this node among workers.
// The allotment belongs only to the job, so nothing is leased.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/node/workers/worker_place.h"

namespace rtrain::node {

// The devices that this process sees, with its own numbers. Initializes the driver if there is one.
std::vector<WorkerGpu> own_gpus();

class AllottedPlaces : public WorkerPlaces {
 public:
  // `gpus`: this node's devices, with this process's numbers. `gpus_per_worker`: below 1, a
  // fraction of one device. `accelerator_type`: required type of the workers' devices; empty: any.
  AllottedPlaces(std::vector<WorkerGpu> gpus, double gpus_per_worker,
                 std::string_view accelerator_type);

  // Assigns no particular cores. Throws Error(kEnvironment) if the node has too few devices.
  WorkerPlace place(int local_rank, int num_workers) const override;
  std::optional<std::string> visible_devices() const override;

 private:
  std::vector<WorkerGpu> gpus_;
  double gpus_per_worker_;
};

}  // namespace rtrain::node
