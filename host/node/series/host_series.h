// host/node/series/host_series.h: the activity of the processes of an attempt's ranks and of their
// host, as series in the store. Pure.
//
// Of each rank "process/cpu_percent" (100: one core), "process/memory_bytes",
// "process/disk_read_bytes_per_s" and "process/disk_written_bytes_per_s". Of the host, under its
// first rank, "host/cpu_percent" (100: one core), "host/memory_used_bytes", and for each second
// "host/disk_read_bytes_per_s", "host/disk_written_bytes_per_s",
// "host/network_received_bytes_per_s" and "host/network_sent_bytes_per_s". What is for each second
// is since the sample before: the first sample has none of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/machine/host_facts.h"
#include "host/machine/processes/process_facts.h"
#include "host/machine/processes/process_io.h"
#include "host/node/series/open_chunks.h"

namespace rtrain {

class HostSeries {
 public:
  explicit HostSeries(int attempt) : chunks_(attempt) {}

  // Nothing for a process that is not there.
  std::vector<SeriesChunk> add_process(int rank, int pid, const ProcessFacts& facts,
                                       const std::optional<ProcessIo>& io, int64_t time_ms);
  std::vector<SeriesChunk> add_host(int first_rank, const HostFacts& facts, int64_t time_ms);

 private:
  struct Count {
    double value;
    int64_t time_ms;
  };
  // How much more it is for each second since the sample before. `owner` is what was counted, a
  // process or the host.
  std::optional<double> rate(int owner, const std::string& key, std::optional<double> count,
                             int64_t time_ms);

  OpenChunks chunks_;
  std::map<std::pair<int, std::string>, Count> before_;
};

}  // namespace rtrain
