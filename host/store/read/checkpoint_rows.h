// host/store/read/checkpoint_rows.h: the checkpoints of a run, as `rtrain checkpoint ls` shows
// them.
#pragma once

#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"
#include "host/store/read/run_resolver.h"

namespace rtrain {

// Those that are kept, by index, the latest and the best one marked; `all`: also those that were
// dropped. `uri` is that of the object store, or "": what is there comes here when it is read.
List checkpoint_rows(Database& database, const RunRef& run, const std::string& uri, bool all);

}  // namespace rtrain
