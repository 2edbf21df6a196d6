// host/cli/runs/queued_runs.h: checks whether runs queued by `rtrain submit` are still in their
// queue.
#pragma once

#include "host/base/value.h"
#include "host/store/read/open_store.h"

namespace rtrain::cli {

// Changes QUEUED runs whose launcher does not know their job any more to LOST: the job was
// cancelled, or has ended before its run began. If a launcher does not answer, its runs stay
// unchanged.
void find_lost_jobs(List& runs, store::OpenStore& store);

}  // namespace rtrain::cli
