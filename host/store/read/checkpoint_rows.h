// host/store/read/checkpoint_rows.h: the checkpoints of a run, for `rtrain checkpoint
// ls`.
#pragma once

#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"
#include "host/store/read/run_resolver.h"

namespace rtrain::store {

// Kept checkpoints by index, with marks for the latest and the best one; `all` adds dropped ones.
// `uri`: the object store's, or ""; its checkpoints are downloaded when they are read.
List checkpoint_rows(Database& database, const RunRef& run, const std::string& uri, bool all);

}  // namespace rtrain::store
