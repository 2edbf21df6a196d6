#include "host/train/watch/gpu_monitor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text.h"
#include "host/machine/xid.h"

namespace rtrain {
namespace {

// What a device has had longer ago did not end its rank.
constexpr double kRecentS = 60;
// One that fails over and over.
constexpr size_t kMostFaults = 1000;

std::string device_text(const RankGpu& gpu) {
  return cat("cuda:", gpu.number, " (", gpu.name, ", ", gpu.uuid, ")");
}

}  // namespace

GpuMonitor::GpuMonitor(Loop& loop, int attempt, GpuMonitorDelegate& delegate)
    : loop_(loop), series_(attempt), delegate_(delegate) {}

void GpuMonitor::start(std::vector<RankGpu> gpus, double interval_s) {
  gpus_ = std::move(gpus);
  if (gpus_.empty()) return;
  std::set<std::string> uuids;
  for (const RankGpu& gpu : gpus_) uuids.insert(gpu.uuid);
  sampler_ = std::make_unique<GpuSampler>(
      loop_, GpuSampler::Plan{{uuids.begin(), uuids.end()}, interval_s}, *this);
}

void GpuMonitor::on_sample(const GpuSample& sample) {
  for (const RankGpu& gpu : gpus_) {
    if (gpu.uuid != sample.uuid) continue;
    const GpuSeries::Owner owner{gpu.rank, gpu.place, delegate_.pid(gpu.rank)};
    for (SeriesChunk& chunk : series_.add(owner, sample.state, sample.time_ms)) {
      delegate_.on_series(std::move(chunk));
    }
  }
}

void GpuMonitor::on_fault(const std::vector<std::string>& uuids, int64_t xid) {
  for (size_t i = 0; i < gpus_.size(); ++i) {
    const RankGpu& gpu = gpus_[i];
    if (std::find(uuids.begin(), uuids.end(), gpu.uuid) == uuids.end()) continue;
    if (faults_.size() < kMostFaults) faults_.push_back({i, xid, monotonic_s()});
    delegate_.warn(
        cat("rank ", gpu.rank, ": its device ", device_text(gpu), " reports ", xid_text(xid)));
  }
}

Error GpuMonitor::explain(int rank, const Error& error) const {
  std::string text = error.message();
  std::set<std::pair<size_t, int64_t>> told;
  for (const Fault& fault : faults_) {
    const RankGpu& gpu = gpus_[fault.gpu];
    const double ago_s = monotonic_s() - fault.time_s;
    if (gpu.rank != rank || ago_s > kRecentS) continue;
    if (!told.emplace(fault.gpu, fault.xid).second) continue;
    text += cat("; its device cuda:", gpu.number, " had reported ", xid_text(fault.xid));
  }
  return Error(error.code(), text, error.traceback());
}

}  // namespace rtrain
