// host/store/read/run_document.h: one run as a document, for `rtrain show` and Result.from_path.
#pragma once

#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"
#include "host/store/read/open_store.h"

namespace rtrain::store {

// The keys of RunListing::row, and config, scaling, last_report, attempts (attempt_rows.h),
// checkpoints (checkpoint_rows.h), best_checkpoints, annotations, nodes, path, uri where the store
// mirrors an object store, environment.
Value read_run(OpenStore& store, const RunRef& run);

// Alone, as read_run has it; nil for a run that is not there.
Value read_config(Database& database, const std::string& run_id);

// {note, error, return_value, checkpoint_config, events}.
Value read_details(Database& database, const std::string& run_id);

// The keys of read_run and read_details.
Value read_whole_run(OpenStore& store, const RunRef& run);

}  // namespace rtrain::store
