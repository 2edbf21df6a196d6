#include "host/node/series/process_monitor.h"

#include <utility>

#include "host/base/clock.h"

namespace rtrain::node {
namespace {

constexpr double kMsPerS = 1000;

}  // namespace

ProcessMonitor::ProcessMonitor(loop::Loop& loop, int attempt, ProcessMonitorDelegate& delegate)
    : delegate_(delegate), series_(attempt), timer_(loop, [this] { sample(); }) {}

void ProcessMonitor::start(const Plan& plan) {
  plan_ = plan;
  arm();
}

void ProcessMonitor::arm() {
  if (plan_.interval_s <= 0 || plan_.num_ranks == 0) return;
  timer_.start(std::chrono::milliseconds(static_cast<int64_t>(plan_.interval_s * kMsPerS)));
}

void ProcessMonitor::sample() {
  arm();
  const int64_t time_ms = now_ms();
  for (int rank = plan_.first_rank; rank < plan_.first_rank + plan_.num_ranks; ++rank) {
    const int pid = delegate_.living_pid(rank);
    const machine::ProcessFacts facts =
        pid > 0 ? machine::process_facts(pid) : machine::ProcessFacts{};
    if (facts.memory_bytes == 0) continue;  // it is ending
    pass_on(series_.add_process(rank, pid, facts, machine::process_io(pid), time_ms));
  }
  pass_on(series_.add_node(rank_of_node(), machine::node_facts(), time_ms));
}

int ProcessMonitor::rank_of_node() const {
  int rank = plan_.first_rank;
  while (left_out_.contains(rank)) ++rank;
  return rank;
}

void ProcessMonitor::pass_on(std::vector<store::SeriesChunk> chunks) {
  for (store::SeriesChunk& chunk : chunks) delegate_.on_series(std::move(chunk));
}

}  // namespace rtrain::node
