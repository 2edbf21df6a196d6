// host/worker/report/worker_patience.h: how long a worker waits while its disk is full. A line in
// its output reports the wait.
#pragma once

#include "host/store/files/patience.h"

namespace rtrain::worker {

store::Patience worker_patience();

}  // namespace rtrain::worker
