// host/store/runs/report_spool.h: a rank's reports on the disk of its own node, where they survive
// the rank's process and the agent that forwards them.
//
// For jobs on several nodes. A rank has two files, used in turn: one is truncated once the
// controller has all of its reports, so both together are bounded by how many reports a rank may be
// ahead (host/worker/report_backlog.h). A record is its length, its hash and a Report; an
// incomplete record ends a file. add() returns once the kernel has the record; the node's agent
// syncs the folder.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/files/fd.h"
#include "host/decide/spool_turns.h"

namespace rtrain::store {

class ReportSpool {
 public:
  // `folder`: spool_folder() of the run. Throws Error(kEnvironment).
  ReportSpool(const std::string& folder, int attempt, int rank);

  // Adds an encoded report. Throws Error(kEnvironment) if it could not be added. Only one thread
  // may call it.
  void add(int64_t index, std::string_view report);
  // Says that the controller has all reports below that index. Any thread.
  void acknowledge(int64_t below) { acknowledged_ = below; }

 private:
  struct File {
    std::string path;
    Fd fd;
  };

  std::array<File, 2> files_;
  decide::SpoolTurns turns_;
  std::atomic<int64_t> acknowledged_ = 0;
};

// The spool folder of the run's ranks on this node, below the runtime folder.
std::string spool_folder(const std::string& run_id);

struct SpooledReport {
  int attempt = 1;
  int rank = 0;
  std::string report;  // an encoded Report
};

// All complete reports, in no order. Empty if the folder does not exist.
std::vector<SpooledReport> read_spools(const std::string& folder);
// Syncs all spools to the disk. Returns the error, or "".
std::string sync_spools(const std::string& folder);
// Removes spools of ranks of earlier attempts, and the folder if it is empty then.
void remove_spools(const std::string& folder, int below_attempt);

}  // namespace rtrain::store
