// host/node/series/gpu_series.h: the activity of the devices of an attempt's ranks, as series in
// the store. Pure.
//
// The keys are "gpu/utilization_percent", "gpu/memory_used_bytes", "gpu/memory_own_bytes" (what the
// rank's own process holds), "gpu/power_w", "gpu/temperature_c" and "gpu/slowed" (1 while the
// device holds itself back); a rank's second device has "gpu/1/…".
#pragma once

#include <string>
#include <vector>

#include "host/machine/libraries/nvml.h"
#include "host/node/series/open_chunks.h"

namespace rtrain {

class GpuSeries {
 public:
  explicit GpuSeries(int attempt) : chunks_(attempt) {}

  struct Owner {
    int rank;
    int place;  // of the device among the rank's own
    int pid;
  };
  // The chunks that hold the sample: each is the open one of its series, with the points before.
  std::vector<SeriesChunk> add(const Owner& owner, const GpuState& state, int64_t time_ms);

 private:
  OpenChunks chunks_;
};

}  // namespace rtrain
