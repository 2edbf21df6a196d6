// host/train/watch/gpu_monitor.h: looks after the devices of an attempt's ranks: records what they
// do and tells of their errors.
//
// Belongs to the control thread. Does nothing for ranks without devices, or where NVIDIA's
// management library is not here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/train/watch/gpu_sampler.h"
#include "host/train/watch/gpu_series.h"

namespace rtrain {

struct RankGpu {
  int rank;
  int place;   // among the rank's own
  int number;  // as the rank calls it: 'cuda:<number>'
  std::string uuid;
  std::string name;
};

class GpuMonitorDelegate {
 public:
  virtual ~GpuMonitorDelegate() = default;
  virtual void warn(const std::string& text) = 0;
  virtual void on_series(SeriesChunk chunk) = 0;
  virtual int pid(int rank) const = 0;
};

class GpuMonitor : public GpuSamplerDelegate {
 public:
  GpuMonitor(Loop& loop, int attempt, GpuMonitorDelegate& delegate);

  // interval_s as GpuSampler::Plan has it.
  void start(std::vector<RankGpu> gpus, double interval_s);
  void stop() { sampler_.reset(); }
  // The error of a rank, with the errors that its devices have had shortly before.
  Error explain(int rank, const Error& error) const;

 private:
  struct Fault {
    size_t gpu;
    int64_t xid;
    double time_s;
  };
  void on_sample(const GpuSample& sample) override;
  void on_fault(const std::vector<std::string>& uuids, int64_t xid) override;

  Loop& loop_;
  GpuSeries series_;
  GpuMonitorDelegate& delegate_;
  std::vector<RankGpu> gpus_;
  std::vector<Fault> faults_;
  std::unique_ptr<GpuSampler> sampler_;
};

}  // namespace rtrain
