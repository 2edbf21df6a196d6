// host/store/read/run_resolver.h: resolves RUN of a command line, or of Result.from_path, to a
// run.
//
// RUN is the name or id of a run, an unambiguous prefix of one, `last` (the run that was started
// last) or `best:METRIC[:min|max]` (by the runs' last reported values, as in `rtrain ls --sort
// METRIC`). `last` and `best:` ignore archived runs. Without min or max the order is the
// checkpoint_score_order of the runs whose checkpoint_score_attribute is METRIC.
#pragma once

#include <string>

#include "host/store/db/database.h"

namespace rtrain::store {

struct RunRef {
  std::string run_id;
  std::string name;
  std::string path;  // absolute
};

// Throws Error(kUsage) with alternatives for an unknown run, and Error(kEnvironment) if the row's
// name or id is not a valid folder name, which could lead out of the storage. The database must
// have the functions of run_functions.h.
RunRef resolve_run(Database& database, const std::string& storage_path, const std::string& run);

}  // namespace rtrain::store
