// host/store/read/open_store.h: a run store that is open for reading, for the listing commands, the
// dashboard and Result.from_path.
//
// Works while a controller is live, in a read-only folder, and without LibTorch. There is a
// function for each thing that a command or a page asks, in the file of its subject:
// run_document.h, run_listing.h, report_rows.h, curve_points.h, checkpoint_rows.h,
// user_statement.h, and those of host/store/runs and host/store/series. It takes the OpenStore or
// its database, so that all answers come over one connection and fit together. Results are plain
// data with the documented keys; times are RFC 3339 UTC strings. A run that has not ended and whose
// controller is gone is shown as LOST; one that was submitted but has not begun, as QUEUED. Wrong
// names and expressions are Error(kUsage). Belongs to one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "host/store/db/database.h"
#include "host/store/read/metric_extremes.h"
#include "host/store/read/run_resolver.h"

namespace rtrain::store {

class OpenStore {
 public:
  // Returns nullopt if the storage has no store yet. `extremes`: of a process that opens it again.
  static std::optional<OpenStore> open(
      const std::string& folder,
      std::shared_ptr<MetricExtremes> extremes = std::make_shared<MetricExtremes>());

  // Resolves a user's name for a run: host/store/read/run_resolver.h.
  RunRef find(const std::string& run);
  // Allows only reads, and has the functions of host/store/read/run_functions.h.
  Database& database() { return *database_; }
  // The URI of the object store that the folder mirrors; empty if it does not.
  std::string uri() const;
  // While the statement is held, all results come from the store's current state. A live run
  // continues to write, except on a network file system, where it waits.
  Statement hold();

 private:
  OpenStore(Database database, std::string folder, std::shared_ptr<MetricExtremes> extremes);

  // SQL functions keep pointers to both.
  std::unique_ptr<std::string> folder_;
  std::unique_ptr<Database> database_;
};

// A run and its open store.
struct OpenRun {
  OpenStore store;
  RunRef ref;
};

// Opens the store and finds the run. Error(kUsage) also if there is no store.
OpenRun open_run(const std::string& folder, const std::string& run);

}  // namespace rtrain::store
