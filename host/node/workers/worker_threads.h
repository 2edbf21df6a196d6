// host/node/workers/worker_threads.h: how many threads each worker of a machine computes with.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rtrain {

// `wanted`, unless it is 0: then OMP_NUM_THREADS of the workers' environment or of this process's
// own, else the machine's cores shared among that many workers.
int worker_threads(int wanted, const std::vector<std::pair<std::string, std::string>>& env,
                   int num_workers);

}  // namespace rtrain
