// host/store/runs/queued_run.h: a run in a launcher's queue, recorded by `rtrain submit`: a row
// with the status QUEUED and without a folder. The controller that begins the run replaces the row
// (host/store/runs/run_opening.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/codec/record.h"
#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain::store {

struct QueuedRun {
  static constexpr std::string_view kClass = "QueuedRun";
  std::string name;
  std::string script;
  List command;                        // what the job will start
  std::optional<int64_t> num_workers;  // none: the script decides
  std::string launcher;                // "slurm"
  std::string job;                     // job number of the launcher

  static constexpr RecordFields kFields{
      required("name", &QueuedRun::name),         required("script", &QueuedRun::script),
      required("command", &QueuedRun::command),   optional("num_workers", &QueuedRun::num_workers),
      required("launcher", &QueuedRun::launcher), required("job", &QueuedRun::job)};
};

// Returns false if a run of that name exists. Throws Error(kConfig) for an invalid name,
// Error(kEnvironment) if the storage cannot be written.
bool add_queued_run(const std::string& storage_path, const QueuedRun& run);

// For a run that began in another storage. Does not create a database in the folder.
void forget_queued_run(const std::string& storage_path, const std::string& name);

// Runs in the caller's transaction.
void remove_queued_run(Database& database, const std::string& name);

}  // namespace rtrain::store
