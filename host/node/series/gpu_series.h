// host/node/series/gpu_series.h: the activity of the devices of an attempt's ranks, as series for
// the store. Pure.
//
// The keys are "gpu/utilization_percent", "gpu/memory_used_bytes", "gpu/memory_own_bytes" (memory
// of the rank's own process), "gpu/power_w", "gpu/temperature_c" and "gpu/slowed" (1 while the
// device throttles); a rank's second device has "gpu/1/…".
#pragma once

#include <string>
#include <vector>

#include "host/machine/libraries/nvml.h"
#include "host/node/series/open_chunks.h"

namespace rtrain::node {

class GpuSeries {
 public:
  explicit GpuSeries(int attempt) : chunks_(attempt) {}

  struct Owner {
    int rank;
    int place;  // index among the rank's devices
    int pid;
  };
  // The chunks with the sample: each is the open chunk of its series, with its earlier points.
  std::vector<store::SeriesChunk> add(const Owner& owner, const machine::GpuState& state,
                                      int64_t time_ms);

 private:
  OpenChunks chunks_;
};

}  // namespace rtrain::node
