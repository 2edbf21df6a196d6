// host/node/host_spool.h: the spools of this host's ranks (host/store/runs/report_spool.h), as the
// process that starts them has them: it syncs them once a second, and removes what is in the store.
//
// Of one run at a time. Belongs to the loop's thread.
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

  // Throws Error(kEnvironment) where this host has no runtime folder.
  void set_run(const std::string& run_id);
  // The reports of ranks that are gone. REQUIRES: set_run().
  std::vector<SpooledReport> read() const { return read_spools(folder_); }
  // As remove_spools().
  void forget(int below_attempt);

 private:
  void sync();

  std::string folder_;
  std::string problem_;  // of the last sync; of the thread's
  std::atomic<bool> is_syncing_ = false;
  Timer timer_;
  TaskThread thread_{"spool"};  // last: its tasks use the others
};

}  // namespace rtrain
