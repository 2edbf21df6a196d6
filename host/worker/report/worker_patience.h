// host/worker/report/worker_patience.h: a worker's patience with a full disk; a line in its output
// says so.
#pragma once

#include "host/store/files/patience.h"

namespace rtrain::worker {

store::Patience worker_patience();

}  // namespace rtrain::worker
