// host/store/read/run_progress.h: the progress of a run, for repeated reading: reads a few rows,
// whatever the run's length.
#pragma once

#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain::store {

// {attempt, reports, reports_per_s, logged, last_checkpoint, ranks}. attempt: number of the last
// one, 0 before it. reports: number of rank 0's valid reports; reports_per_s: over the last few of
// them, nil if there are too few. logged: the newest values of train.log, each from the lowest rank
// that has it, with the newest of their steps as `step`. last_checkpoint: the name of the newest
// one that exists, nil without one. ranks: of the last attempt, {rank, pid, host, device, is_over,
// gpu, lost_s, metrics}; lost_s: as in decide::Straggler, of the time when the rank was last named;
// 0: it keeps up again; nil: it was never named; metrics are those of the rank's last report.
Map read_progress(Database& database, const std::string& run_id);

}  // namespace rtrain::store
