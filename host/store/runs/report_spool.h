// host/store/runs/report_spool.h: what a rank has reported, on the disk of its own host: there a
// report outlives the rank's process and the agent that passes it on.
//
// For a job over several hosts. A rank has two files, which take turns: one is begun again when the
// controller has all that is in it, so both together stay bounded by what a rank may be ahead
// (host/worker/report_backlog.h). A record is its length, its hash and a message::Report; one that
// is not whole ends a file. add() returns when the kernel has the record; whoever watches the host
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

namespace rtrain {

class ReportSpool {
 public:
  // `folder`: spool_folder() of the run. Throws Error(kEnvironment).
  ReportSpool(const std::string& folder, int attempt, int rank);

  // A report, encoded. Throws Error(kEnvironment), and the report is not in the spool then. One
  // thread alone.
  void add(int64_t index, std::string_view report);
  // The controller has the reports below that index. Any thread.
  void acknowledge(int64_t below) { acknowledged_ = below; }

 private:
  struct File {
    std::string path;
    Fd fd;
  };

  std::array<File, 2> files_;
  SpoolTurns turns_;
  std::atomic<int64_t> acknowledged_ = 0;
};

// Where the ranks of that run keep theirs on this host, below the runtime folder.
std::string spool_folder(const std::string& run_id);

struct SpooledReport {
  int attempt = 1;
  int rank = 0;
  std::string report;  // a message::Report, encoded
};

// All that is whole, in no order. Empty without the folder.
std::vector<SpooledReport> read_spools(const std::string& folder);
// Puts all of it on the disk; what failed, or "".
std::string sync_spools(const std::string& folder);
// Removes what ranks of attempts below that have left, and the folder when nothing else is in it.
void remove_spools(const std::string& folder, int below_attempt);

}  // namespace rtrain
