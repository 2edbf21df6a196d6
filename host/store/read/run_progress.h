// host/store/read/run_progress.h: how far a run is, for those who look at it again and again: a few
// rows are read, however long the run is.
#pragma once

#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain {

// {attempt, reports, reports_per_s, logged, ranks}. attempt: the last one's number, 0 before it.
// reports: those of rank 0 that count; per second over the last few of them, nil while there are
// too few. logged: the newest values of train.log, each by the lowest rank that has it, with the
// last of their steps as `step`. ranks: of the last attempt, {rank, pid, host, device, is_over,
// gpu, metrics}, metrics being those of the rank's last report.
Map read_progress(Database& database, const std::string& run_id);

}  // namespace rtrain
