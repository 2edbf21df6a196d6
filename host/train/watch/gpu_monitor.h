// host/train/watch/gpu_monitor.h: looks after the devices of an attempt's ranks: records what they
// do and tells of their errors.
//
// Belongs to the control thread. Does nothing for ranks without devices, or where NVIDIA's
// management library is not here.
#pragma once

#include <functional>
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

class GpuMonitor {
 public:
  struct Outlets {
    std::function<void(SeriesChunk chunk)> record;
    std::function<void(const std::string& text)> warn;
    std::function<int(int rank)> pid;
  };
  GpuMonitor(Loop& loop, int attempt, Outlets outlets);

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
  void on_sample(const GpuSample& sample);
  void on_fault(const std::vector<std::string>& uuids, int64_t xid);

  Loop& loop_;
  GpuSeries series_;
  Outlets outlets_;
  std::vector<RankGpu> gpus_;
  std::vector<Fault> faults_;
  std::unique_ptr<GpuSampler> sampler_;
};

}  // namespace rtrain
