// host/store/claim/run_claim.h: a controller's claim on a run: the store's connection, the run's
// lock and the owner epoch of all its writes.
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

namespace rtrain::store {

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
  Patience patience = {};                  // for all writes
  std::function<void()> on_restored = {};  // called when the missing store file was rewritten

  // FencedWrite sets these for the pace of batches of reports.
  bool unsynced = false;  // a commit may not be on the disk yet
  double last_sync_s = 0;
  double commit_s = 0;  // duration of the last transaction

  // Throws like FencedWrite if this controller does not own the run any more, without writing. Call
  // it before a change of files that another owner would have to undo.
  void check();
};

}  // namespace rtrain::store
