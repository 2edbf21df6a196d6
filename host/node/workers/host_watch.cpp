#include "host/node/workers/host_watch.h"

#include "host/machine/cgroup.h"
#include "host/machine/node_facts.h"
#include "host/machine/processes/process_facts.h"
#include "host/machine/processes/run_queue.h"

namespace rtrain::node {
namespace {

constexpr double kIntervalS = 1;

}  // namespace

const decide::HostFacts& HostWatch::facts(int rank, int pid, double now_s) {
  Rank& known = ranks_[rank];
  if (pid == 0 || (known.pid == pid && now_s - known.read_s < kIntervalS)) return known.facts;
  known.pid = pid;
  known.read_s = now_s;
  read(pid, known.facts);
  return known.facts;
}

void HostWatch::read(int pid, decide::HostFacts& out) {
  out.starved_s = machine::run_queue_wait_s(pid).value_or(0);
  out.stolen_s = machine::cpu_facts().stolen_s.value_or(0);
  out.faults = machine::process_facts(pid).major_faults;
  const auto limit = machine::cpu_limit_of(pid).value_or(machine::CpuLimit());
  out.cores = limit.cores;
  out.periods = limit.periods;
  out.throttled = limit.throttled;
}

}  // namespace rtrain::node
