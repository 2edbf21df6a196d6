// host/store/import/imported_run.h: a run of another program, or of another store, as this one
// keeps it.
//
// It has ended, has no workers and no checkpoints. Its folder is there and empty.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/store/runs/run_store.h"
#include "host/store/series/series_chunk.h"

namespace rtrain {

struct ImportedSeries {
  std::string key;
  int64_t rank = 0;
  std::vector<SeriesPoint> points;  // in the order of logging
};

struct ImportedRun {
  std::string name;
  std::string note;
  std::vector<std::string> tags;
  std::vector<std::string> command;    // that imports it
  std::vector<ReportRow> reports;      // of one attempt and rank no two have the same index
  std::vector<ImportedSeries> series;  // of attempt 1
};

// All of them in one transaction, or none. Throws Error(kUsage) for a name that is taken or cannot
// be a run's and for two runs of one name, kUnsupported for an object store, kEnvironment when the
// storage cannot be written.
void add_imported_runs(const std::string& storage_path, const std::vector<ImportedRun>& runs);

}  // namespace rtrain
