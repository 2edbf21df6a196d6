#include "host/node/workers/host_watch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <vector>

#include "host/base/clock.h"
#include "host/machine/processes/run_queue.h"

namespace rtrain::node {
namespace {

// A process that computes on the first core that this one may use.
int start_spinner() {
  const int pid = fork();
  if (pid != 0) return pid;
  cpu_set_t all;
  sched_getaffinity(0, sizeof(all), &all);
  cpu_set_t first;
  CPU_ZERO(&first);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&first) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &first);
  }
  sched_setaffinity(0, sizeof(first), &first);
  std::atomic<int> count{0};
  while (count >= 0) count.fetch_and(0xff);
  _exit(0);
}

TEST(HostWatch, ProcessesOnOneCoreWaitForEachOther) {
  if (!std::filesystem::exists("/proc/self/schedstat")) GTEST_SKIP() << "the kernel does not count";
  const std::vector<int> spinners{start_spinner(), start_spinner()};
  const double deadline_s = monotonic_s() + 60;
  const auto waited = [&] { return machine::run_queue_wait_s(spinners[0]).value_or(0); };
  while (waited() < 0.05 && monotonic_s() < deadline_s) usleep(10000);
  HostWatch watch;
  const double now_s = monotonic_s();
  const double first_s = watch.facts(3, spinners[0], now_s).starved_s;
  EXPECT_GE(first_s, 0.05);
  while (waited() < first_s + 0.05 && monotonic_s() < deadline_s) usleep(10000);
  EXPECT_EQ(watch.facts(3, spinners[0], now_s + 0.9).starved_s, first_s) << "once a second";
  EXPECT_GE(watch.facts(3, spinners[0], now_s + 1).starved_s, first_s + 0.05);
  EXPECT_EQ(watch.facts(3, 0, now_s + 9).starved_s, watch.facts(3, 0, now_s + 10).starved_s)
      << "a process that has ended is not read";
  watch.set_slowed_by(3, "heat");
  EXPECT_EQ(watch.facts(3, spinners[1], now_s + 10).slowed_by, "heat");
  for (const int pid : spinners) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  EXPECT_FALSE(machine::run_queue_wait_s(spinners[0]));
}

}  // namespace
}  // namespace rtrain::node
