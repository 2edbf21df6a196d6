// host/node/workers/worker_place.h: the cores and devices that a worker gets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/base/codec/record.h"

namespace rtrain::node {

inline constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";

struct WorkerGpu {
  int number = 0;  // the worker's number for it: 'cuda:<number>'
  std::string uuid;
  std::string name;

  static constexpr RecordFields kFields{required("number", &WorkerGpu::number),
                                        required("uuid", &WorkerGpu::uuid),
                                        required("name", &WorkerGpu::name)};
};

struct WorkerPlace {
  std::vector<int> lease_fds;  // held for the worker's whole life
  std::vector<int> cpus;       // empty: all of them
  std::vector<WorkerGpu> gpus;
};

// Divides the run's resources on one machine among its workers there.
class WorkerPlaces {
 public:
  virtual ~WorkerPlaces() = default;
  // The place of one of that many workers, by its number on the machine.
  virtual WorkerPlace place(int local_rank, int num_workers) const = 0;
  // The devices that all workers may see, for kVisibleDevices; nullopt: those that this process
  // sees. Workers without devices see none.
  virtual std::optional<std::string> visible_devices() const = 0;
};

}  // namespace rtrain::node
