// host/store/import/imported_run.h: a run imported from another program or another
// store.
//
// It is finished and has no workers, no checkpoints and an empty folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/runs/run_store.h"
#include "host/store/series/series_chunk.h"

namespace rtrain::store {

struct ImportedSeries {
  std::string key;
  int64_t rank = 0;
  std::vector<SeriesPoint> points;  // in the order of logging
};

struct ImportedRun {
  std::string name;
  std::string note;
  std::vector<std::string> tags;
  std::vector<std::string> command;    // the command of the import
  std::vector<Report> reports;         // of one attempt and rank no two have the same index
  std::vector<ImportedSeries> series;  // of attempt 1
};

// Adds all runs in one transaction, or none. Throws Error(kUsage) for a name that is taken,
// invalid or given twice, kUnsupported for an object store, kEnvironment if the storage cannot be
// written.
void add_imported_runs(const std::string& storage_path, const std::vector<ImportedRun>& runs);

}  // namespace rtrain::store
