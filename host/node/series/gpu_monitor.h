// host/node/series/gpu_monitor.h: monitors the devices of a node's ranks: activity and
// errors.
//
// Belongs to the loop's thread. Does nothing for ranks without devices, or if NVIDIA's
// management library is not installed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/node/series/gpu_sampler.h"
#include "host/node/series/gpu_series.h"
#include "host/node/workers/node.h"

namespace rtrain::node {

struct RankGpu {
  int rank;
  int place;  // index among the rank's devices
  WorkerGpu gpu;
};

class GpuMonitorDelegate {
 public:
  virtual ~GpuMonitorDelegate() = default;
  virtual void on_series(store::SeriesChunk chunk) = 0;
  virtual void on_device_fault(const DeviceFault& fault) = 0;
  // What a device of the rank does now.
  virtual void on_device_state(int rank, const machine::GpuState& state) = 0;
  virtual int pid(int rank) const = 0;
};

class GpuMonitor : public GpuSamplerDelegate {
 public:
  GpuMonitor(loop::Loop& loop, int attempt, GpuMonitorDelegate& delegate);

  // interval_s: as in GpuSampler::Plan.
  void start(std::vector<RankGpu> gpus, double interval_s);
  void stop() { sampler_.reset(); }

 private:
  void on_sample(const GpuSample& sample) override;
  void on_fault(const std::vector<std::string>& uuids, int64_t xid) override;

  loop::Loop& loop_;
  GpuSeries series_;
  GpuMonitorDelegate& delegate_;
  std::vector<RankGpu> gpus_;
  std::unique_ptr<GpuSampler> sampler_;
};

}  // namespace rtrain::node
