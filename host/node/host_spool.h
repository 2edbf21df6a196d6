// host/node/host_spool.h: manages the spools of this host's ranks (host/store/runs/report_spool.h)
// in the process that starts the ranks: syncs them once a second, and removes reports that are in
// the store.
//
// Holds one run at a time. Belongs to the loop's thread.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "host/loop/task_thread.h"
#include "host/loop/timer.h"
#include "host/store/runs/report_spool.h"

namespace rtrain {

class HostSpool {
 public:
  explicit HostSpool(Loop& loop);

  // Throws Error(kEnvironment) if this host has no runtime folder.
  void set_run(const std::string& run_id);
  // The reports of ranks that have ended. REQUIRES: set_run().
  std::vector<SpooledReport> read() const { return read_spools(folder_); }
  // Like remove_spools().
  void forget(int below_attempt);

 private:
  void sync();

  std::string folder_;
  std::string problem_;  // error of the last sync; used by the thread
  std::atomic<bool> is_syncing_ = false;
  Timer timer_;
  TaskThread thread_{"spool"};  // last member: its tasks use the others
};

}  // namespace rtrain
