// host/node/series/process_series.h: the activity of the processes of an attempt's ranks and of
// their node, as series for the store. Pure.
//
// For each rank "process/cpu_percent" (100: one core), "process/memory_bytes",
// "process/disk_read_bytes_per_s" and "process/disk_written_bytes_per_s". For the node, under its
// first rank, "host/cpu_percent" (100: one core), "host/memory_used_bytes",
// "host/disk_read_bytes_per_s", "host/disk_written_bytes_per_s",
// "host/network_received_bytes_per_s" and "host/network_sent_bytes_per_s". Rates are computed since
// the previous sample, so the first sample has none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/machine/node_facts.h"
#include "host/machine/processes/process_facts.h"
#include "host/machine/processes/process_io.h"
#include "host/node/series/open_chunks.h"

namespace rtrain::node {

class ProcessSeries {
 public:
  explicit ProcessSeries(int attempt) : chunks_(attempt) {}

  // Empty for a process that does not exist.
  std::vector<store::SeriesChunk> add_process(int rank, int pid, const machine::ProcessFacts& facts,
                                              const std::optional<machine::ProcessIo>& io,
                                              int64_t time_ms);
  std::vector<store::SeriesChunk> add_node(int first_rank, const machine::NodeFacts& facts,
                                           int64_t time_ms);

 private:
  struct Count {
    double value;
    int64_t time_ms;
  };
  // The increase per second since the previous sample. `owner`: the process or the node that was
  // counted.
  std::optional<double> rate(int owner, const std::string& key, std::optional<double> count,
                             int64_t time_ms);

  OpenChunks chunks_;
  std::map<std::pair<int, std::string>, Count> before_;
};

}  // namespace rtrain::node
