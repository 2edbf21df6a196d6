// host/train/worker_death.h: why a worker's end is a failure, in words.
#pragma once

#include <cstdint>
#include <string>

#include "host/base/error.h"
#include "host/base/progress_page.h"
#include "host/train/worker_group.h"

namespace rtrain {

// The error of a worker that ended before its train function returned. The crash is what its page
// holds (signal 0: nothing); oom_kills is how many processes the kernel has killed for want of
// memory in this cgroup since the attempt began.
Error worker_death(int rank, const WorkerEnd& end, const Crash& crash, int64_t oom_kills);

// What the user is told at once, while how it ended is not known yet.
std::string death_notice(int rank, int pid, int num_workers);

}  // namespace rtrain
