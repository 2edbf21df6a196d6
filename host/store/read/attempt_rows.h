// host/store/read/attempt_rows.h: the attempts of a run, with their workers.
#pragma once

#include <string>

#include "host/base/value.h"
#include "host/store/db/database.h"

namespace rtrain::store {

// {attempt, status, error, started_at, ended_at, heal_s, timing, workers}, in order. workers:
// {rank, pid, host, device, gpu, data, timing, lost_s, exit_code, signal} of each rank; gpu, data
// and timing are the last values of its series gpu/…, data/… and time/…; lost_s: as in
// run_progress.h; an attempt's timing is the mean of its workers'. What is not known is nil. The
// database must have the functions of run_functions.h.
List attempt_rows(Database& database, const std::string& run_id);

}  // namespace rtrain::store
