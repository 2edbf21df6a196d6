#include "host/train/watch/device_faults.h"

#include <set>
#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/machine/xid.h"

namespace rtrain::train {
namespace {

// Older faults of a device cannot have ended its rank.
constexpr double kRecentS = 60;
// Limit for a device that fails repeatedly.
constexpr size_t kMostFaults = 1000;

}  // namespace

void DeviceFaults::add(const node::DeviceFault& fault) {
  if (faults_.size() < kMostFaults) faults_.push_back({fault, monotonic_s()});
}

Error DeviceFaults::explain(int rank, const Error& error) const {
  std::string text = error.message();
  std::set<std::pair<std::string, int64_t>> explained;
  for (const auto& [fault, time_s] : faults_) {
    if (fault.rank != rank || monotonic_s() - time_s > kRecentS) continue;
    if (!explained.emplace(fault.gpu.uuid, fault.xid).second) continue;
    text +=
        cat("; its device cuda:", fault.gpu.number, " had reported ", machine::xid_text(fault.xid));
  }
  return Error(error.code(), text, error.traceback());
}

std::string to_text(const node::DeviceFault& fault) {
  return cat("rank ", fault.rank, ": its device cuda:", fault.gpu.number, " (", fault.gpu.name,
             ", ", fault.gpu.uuid, ") reports ", machine::xid_text(fault.xid));
}

}  // namespace rtrain::train
