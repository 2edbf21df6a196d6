#include "host/base/background_thread.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace rtrain {
namespace {

// A tenth of what a rank gets where both want the same processor: enough for a save to come to an
// end on a machine without an idle one.
constexpr int kNiceness = 10;

std::optional<cpu_set_t>& processors() {
  static std::optional<cpu_set_t> mask;
  return mask;
}

}  // namespace

void use_processors_of(pid_t parent) {
  cpu_set_t mask;
  if (sched_getaffinity(parent, sizeof mask, &mask) == 0) processors() = mask;
}

// Neither is needed for a correct result: where the system refuses, the thread stays as it is.
void enter_background() {
  if (const auto& mask = processors()) sched_setaffinity(0, sizeof *mask, &*mask);
  const auto self = static_cast<id_t>(gettid());
  setpriority(PRIO_PROCESS, self, std::max(kNiceness, getpriority(PRIO_PROCESS, self)));
}

}  // namespace rtrain
