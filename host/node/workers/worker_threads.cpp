#include "host/node/workers/worker_threads.h"

#include <algorithm>
#include <cstdlib>

#include "host/base/error.h"
#include "host/machine/leases/resource_settings.h"
#include "host/machine/machine.h"

namespace rtrain::node {
namespace {

// Without a runtime folder no limit can have been set.
int offered_or_own_cores() {
  try {
    return machine::offered_cores();
  } catch (const Error&) {
    return machine::available_cores();
  }
}

}  // namespace

int worker_threads(int wanted, const std::vector<std::pair<std::string, std::string>>& env,
                   int num_workers) {
  if (wanted > 0) return wanted;
  for (const auto& [name, value] : env) {
    if (name == "OMP_NUM_THREADS" && std::atoi(value.c_str()) > 0) return std::atoi(value.c_str());
  }
  const char* set = std::getenv("OMP_NUM_THREADS");
  if (set != nullptr && std::atoi(set) > 0) return std::atoi(set);
  return std::max(1, offered_or_own_cores() / num_workers);
}

}  // namespace rtrain::node
