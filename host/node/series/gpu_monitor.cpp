#include "host/node/series/gpu_monitor.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rtrain::node {

GpuMonitor::GpuMonitor(loop::Loop& loop, int attempt, GpuMonitorDelegate& delegate)
    : loop_(loop), series_(attempt), delegate_(delegate) {}

void GpuMonitor::start(std::vector<RankGpu> gpus, double interval_s) {
  gpus_ = std::move(gpus);
  if (gpus_.empty()) return;
  std::set<std::string> uuids;
  for (const RankGpu& each : gpus_) uuids.insert(each.gpu.uuid);
  sampler_ = std::make_unique<GpuSampler>(
      loop_, GpuSampler::Plan{{uuids.begin(), uuids.end()}, interval_s}, *this);
}

void GpuMonitor::on_sample(const GpuSample& sample) {
  for (const RankGpu& each : gpus_) {
    if (each.gpu.uuid != sample.uuid) continue;
    delegate_.on_device_state(each.rank, sample.state);
    const GpuSeries::Owner owner{each.rank, each.place, delegate_.pid(each.rank)};
    for (store::SeriesChunk& chunk : series_.add(owner, sample.state, sample.time_ms)) {
      delegate_.on_series(std::move(chunk));
    }
  }
}

void GpuMonitor::on_fault(const std::vector<std::string>& uuids, int64_t xid) {
  for (const RankGpu& each : gpus_) {
    if (std::find(uuids.begin(), uuids.end(), each.gpu.uuid) == uuids.end()) continue;
    delegate_.on_device_fault({each.rank, each.gpu, xid});
  }
}

}  // namespace rtrain::node
