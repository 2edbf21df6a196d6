// host/store/claim/run_claim.h: a controller's claim on a run: the store's connection, the run's
// lock and the epoch that everything is written under.
//
// Owned by RunStore, on the controller's io thread. The small stores next to RunStore keep a
// reference to it and write through FencedWrite.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "host/store/claim/run_end.h"
#include "host/store/claim/run_lock.h"
#include "host/store/claim/run_place.h"
#include "host/store/db/database.h"
#include "host/store/files/patience.h"

namespace rtrain {

struct RunClaim {
  Database database;
  RunLock lock;
  std::string run_id;
  std::string name;
  std::string run_path;  // absolute
  RunPlace place;
  RunEnd end;
  int64_t owner_epoch = 1;
  bool lost = false;                       // another owner was seen
  Patience patience = {};                  // with everything that is written
  std::function<void()> on_restored = {};  // the store's file was gone, and was written again

  // What FencedWrite leaves for the pace of the batches.
  bool unsynced = false;  // something committed may not be on the disk yet
  double last_sync_s = 0;
  double commit_s = 0;  // how long the last transaction took

  // Throws what FencedWrite throws when the run is no longer ours, without writing: call it before
  // a step on files that another owner would have to undo.
  void check();
};

}  // namespace rtrain
