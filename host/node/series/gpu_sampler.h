// host/node/series/gpu_sampler.h: a thread that queries NVIDIA's management library for the
// activity and errors of devices.
//
// Belongs to the control thread, which never waits for the library: a failing device can block its
// caller for long. Without the library the thread ends at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/loop/loop.h"
#include "host/machine/libraries/nvml.h"

namespace rtrain::node {

struct GpuSample {
  std::string uuid;
  machine::GpuState state;
  int64_t time_ms = 0;
};

// Called on the control thread, never after the end of the sampler.
class GpuSamplerDelegate {
 public:
  virtual ~GpuSamplerDelegate() = default;
  virtual void on_sample(const GpuSample& sample) = 0;
  // A fault has occurred; `uuids` are those of the monitored devices that it concerns.
  virtual void on_fault(const std::vector<std::string>& uuids, int64_t xid) = 0;
};

class GpuSampler {
 public:
  struct Plan {
    std::vector<std::string> uuids;
    double interval_s = 5;  // 0: only faults
  };

  GpuSampler(loop::Loop& loop, Plan plan, GpuSamplerDelegate& delegate);
  // Does not wait for a library call that hangs: the thread is abandoned then.
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rtrain::node
