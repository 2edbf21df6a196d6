// host/node/series/gpu_sampler.h: a thread that asks NVIDIA's management library what devices do,
// and hears of their errors.
//
// Belongs to the control thread, which never waits for the library: a device that is going down can
// hold its caller up for long. Where the library is not here the thread ends at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/loop/loop.h"
#include "host/machine/libraries/nvml.h"

namespace rtrain {

struct GpuSample {
  std::string uuid;
  GpuState state;
  int64_t time_ms = 0;
};

// Called on the control thread, and not after the end of the sampler.
class GpuSamplerDelegate {
 public:
  virtual ~GpuSamplerDelegate() = default;
  virtual void on_sample(const GpuSample& sample) = 0;
  // The devices, of those asked for, that the fault concerns.
  virtual void on_fault(const std::vector<std::string>& uuids, int64_t xid) = 0;
};

class GpuSampler {
 public:
  struct Plan {
    std::vector<std::string> uuids;
    double interval_s = 5;  // 0: faults alone
  };

  GpuSampler(Loop& loop, Plan plan, GpuSamplerDelegate& delegate);
  // Does not wait for a library that hangs: the thread is left to itself then.
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rtrain
