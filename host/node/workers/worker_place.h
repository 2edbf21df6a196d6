// host/node/workers/worker_place.h: which cores and devices of a machine a worker gets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/base/codec/record.h"

namespace rtrain {

inline constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";

struct WorkerGpu {
  int number = 0;  // as the worker calls it: 'cuda:<number>'
  std::string uuid;
  std::string name;

  static constexpr std::tuple kFields{required("number", &WorkerGpu::number),
                                      required("uuid", &WorkerGpu::uuid),
                                      required("name", &WorkerGpu::name)};
};

struct WorkerPlace {
  std::vector<int> lease_fds;  // it holds these as long as it lives
  std::vector<int> cpus;       // empty: all of them
  std::vector<WorkerGpu> gpus;
};

// Shares what a run has of one machine among its workers there.
class WorkerPlaces {
 public:
  virtual ~WorkerPlaces() = default;
  // Of one of that many workers, counted on the machine alone.
  virtual WorkerPlace place(int local_rank, int num_workers) const = 0;
  // The devices that all of them may see, for kVisibleDevices; nothing: what this process
  // sees. Workers that were given none see none.
  virtual std::optional<std::string> visible_devices() const = 0;
};

}  // namespace rtrain
