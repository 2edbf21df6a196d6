#include "host/node/series/host_monitor.h"

#include <utility>

#include "host/base/clock.h"

namespace rtrain {
namespace {

constexpr double kMsPerS = 1000;

}  // namespace

HostMonitor::HostMonitor(Loop& loop, int attempt, HostMonitorDelegate& delegate)
    : delegate_(delegate), series_(attempt), timer_(loop, [this] { sample(); }) {}

void HostMonitor::start(const Plan& plan) {
  plan_ = plan;
  arm();
}

void HostMonitor::arm() {
  if (plan_.interval_s <= 0 || plan_.num_ranks == 0) return;
  timer_.start(std::chrono::milliseconds(static_cast<int64_t>(plan_.interval_s * kMsPerS)));
}

void HostMonitor::sample() {
  arm();
  const int64_t time_ms = now_ms();
  for (int rank = plan_.first_rank; rank < plan_.first_rank + plan_.num_ranks; ++rank) {
    const int pid = delegate_.living_pid(rank);
    if (pid > 0) {
      pass_on(series_.add_process(rank, pid, process_facts(pid), process_io(pid), time_ms));
    }
  }
  pass_on(series_.add_host(host_rank(), host_facts(), time_ms));
}

int HostMonitor::host_rank() const {
  int rank = plan_.first_rank;
  while (left_out_.contains(rank)) ++rank;
  return rank;
}

void HostMonitor::pass_on(std::vector<SeriesChunk> chunks) {
  for (SeriesChunk& chunk : chunks) delegate_.on_series(std::move(chunk));
}

}  // namespace rtrain
