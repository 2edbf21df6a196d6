// host/store/runs/queued_run.h: a run that waits in a launcher's queue, as `rtrain submit` records
// it: a row with the status QUEUED and no folder. The controller that begins the run puts its own
// row in its place (host/store/runs/run_opening.h).
#pragma once

#include <cstdint>
#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain {

struct QueuedRun {
  std::string name;
  std::string script;
  List command;             // what the job starts
  int64_t num_workers = 0;  // 0: the script says how many
  std::string launcher;     // "slurm"
  std::string job;          // its number there
};

// False where a run has that name already. Throws Error(kConfig) for a name that cannot be a run's,
// Error(kEnvironment) when the storage cannot be written.
bool add_queued_run(const std::string& storage_path, const QueuedRun& run);

// Of a run that has begun in another storage. A folder without a database is left as it is.
void forget_queued_run(const std::string& storage_path, const std::string& name);

// In the caller's transaction.
void remove_queued_run(Database& database, const std::string& name);

}  // namespace rtrain
