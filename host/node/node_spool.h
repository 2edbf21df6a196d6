// host/node/node_spool.h: manages the spools of this node's ranks (host/store/runs/report_spool.h)
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

namespace rtrain::node {

class NodeSpool {
 public:
  explicit NodeSpool(loop::Loop& loop);

  // Throws Error(kEnvironment) if this node has no runtime folder.
  void set_run(const std::string& run_id);
  // The reports of ranks that have ended. REQUIRES: set_run().
  std::vector<store::SpooledReport> read() const { return store::read_spools(folder_); }
  // Like remove_spools().
  void forget(int below_attempt);

 private:
  void sync();

  std::string folder_;
  std::string problem_;  // error of the last sync; used by the thread
  std::atomic<bool> is_syncing_ = false;
  loop::Timer timer_;
  loop::TaskThread thread_{"spool"};  // last member: its tasks use the others
};

}  // namespace rtrain::node
