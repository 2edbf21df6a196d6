#include "host/base/background_thread.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace rtrain {
namespace {

// A background thread gets about a tenth of a rank's share of a processor that both want, so that a
// save ends even on a machine without idle processors.
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

// The results do not depend on either setting: if the system refuses one, the thread continues
// without it.
void enter_background() {
  if (const auto& mask = processors()) sched_setaffinity(0, sizeof *mask, &*mask);
  const auto self = static_cast<id_t>(gettid());
  setpriority(PRIO_PROCESS, self, std::max(kNiceness, getpriority(PRIO_PROCESS, self)));
}

}  // namespace rtrain
