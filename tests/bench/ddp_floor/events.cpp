#include "tests/bench/ddp_floor/events.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "host/base/clock.h"

namespace rtrain::floor {

Events::Events(const std::string& folder, int rank)
    : file_(::open((folder + "/events." + std::to_string(rank)).c_str(),
                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}

void Events::mark(const std::string& name, double value) {
  ::dprintf(file_.get(), "%.6f %d %s %.9g\n", monotonic_s(), ::getpid(), name.c_str(), value);
}

void Stopwatch::restart() { last_s_ = monotonic_s(); }

void Stopwatch::lap(const char* part) {
  const double now_s = monotonic_s();
  for (auto& [name, seconds] : parts_) {
    if (name != part) continue;
    seconds += now_s - last_s_;
    last_s_ = now_s;
    return;
  }
  parts_.emplace_back(part, now_s - last_s_);
  last_s_ = now_s;
}

}  // namespace rtrain::floor
