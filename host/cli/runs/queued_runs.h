// host/cli/runs/queued_runs.h: whether runs that `rtrain submit` has put into a queue still wait
// there.
#pragma once

#include "host/base/value.h"
#include "host/store/read/run_reader.h"

namespace rtrain {

// A QUEUED run among these whose launcher no longer knows its job becomes LOST: it was cancelled,
// or has ended before its run began. A launcher that does not answer changes nothing.
void find_lost_jobs(List& runs, RunReader& reader);

}  // namespace rtrain
