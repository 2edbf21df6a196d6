// host/node/workers/worker_threads.h: the number of threads with which each worker computes.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rtrain::node {

// `wanted` unless it is 0; then OMP_NUM_THREADS from the workers' environment or this process's,
// else the machine's cores divided among that many workers.
int worker_threads(int wanted, const std::vector<std::pair<std::string, std::string>>& env,
                   int num_workers);

}  // namespace rtrain::node
