// host/store/runs/source_store.h: the code of a run, as it was when its controller began.
//
// {kind, path, text} each: the script, the modules in its folder that were loaded, and what `git
// diff HEAD` said of it. Whoever takes a run over replaces them by its own.
#pragma once

#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain {

// In the caller's transaction.
void set_sources(Database& database, const std::string& run_id, const List& sources);

// The script first, then the modules by path, then the diff. Empty in a store of an older rtrain.
List read_sources(Database& database, const std::string& run_id);

}  // namespace rtrain
