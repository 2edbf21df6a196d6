// host/store/read/run_resolver.h: which run a user means: the one place where RUN of a command
// line, or of Result.from_path, becomes a run.
//
// RUN is the name or id of a run, the beginning of just one of them, `last` (the one that was
// started last) or `best:METRIC[:min|max]` (of the values that runs reported last, as `rtrain ls
// --sort METRIC` has them). `last` and `best:` pass over archived runs. Without min or max the
// order is the checkpoint_score_order of the runs whose checkpoint_score_attribute is METRIC.
#pragma once

#include <string>

#include "host/store/db/database.h"

namespace rtrain {

struct RunRef {
  std::string run_id;
  std::string name;
  std::string path;  // absolute
};

// Error(kUsage) says what there is instead, Error(kEnvironment) that the row's name or id is no
// name of a folder: it would lead out of the storage. The database has the functions of
// run_functions.h.
RunRef resolve_run(Database& database, const std::string& storage_path, const std::string& run);

}  // namespace rtrain
