// host/store/runs/source_store.h: the source code of a run, as of its controller's start.
//
// Each entry is {kind, path, text}: the script, the loaded modules in its folder, and the output of
// `git diff HEAD`. A controller that takes the run over replaces them by its own.
#pragma once

#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain::store {

// Runs in the caller's transaction.
void set_sources(Database& database, const std::string& run_id, const List& sources);

// The script, then modules by path, then the diff. Empty for a store of an older rtrain.
List read_sources(Database& database, const std::string& run_id);

}  // namespace rtrain::store
