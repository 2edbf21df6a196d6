#include "host/machine/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "host/machine/cgroup.h"
namespace rtrain::machine {
namespace {

// cpu.max holds "max 100000" or "200000 100000": time per period. Infinite without a quota.
double cgroup_cores() {
  double cores = HUGE_VAL;
  for (const std::string& folder : cgroup_folders()) {
    std::ifstream file(folder + "/cpu.max");
    double quota = 0;
    double period = 0;
    if (file >> quota >> period && period > 0) cores = std::min(cores, quota / period);
  }
  return cores;
}

int64_t cgroup_memory() {
  int64_t limit = INT64_MAX;
  for (const std::string& folder : cgroup_folders()) {
    std::ifstream file(folder + "/memory.max");
    int64_t bytes = 0;
    if (file >> bytes) limit = std::min(limit, bytes);
  }
  return limit;
}

int64_t meminfo_bytes(const std::string& key) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  int64_t kilobytes = 0;
  std::string unit;
  while (file >> name >> kilobytes) {
    std::getline(file, unit);
    if (name == key + ":") return kilobytes * 1024;
  }
  return 0;
}

// Returns `machine`, or less if a cgroup has less memory left.
int64_t least_free(int64_t swap, int64_t machine) {
  for (const std::string_view controller : {"", "memory"}) {
    for (const std::string& folder : cgroup_folders(controller)) {
      machine = std::min(machine, cgroup_free_memory(folder, swap).value_or(INT64_MAX));
    }
  }
  return machine;
}

}  // namespace

std::string hostname() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

int available_cores() {
  cpu_set_t mask;
  int cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) cores = CPU_COUNT(&mask);
  const double quota = cgroup_cores();
  if (quota < cores) cores = static_cast<int>(std::ceil(quota));
  return std::max(cores, 1);
}

std::vector<int> own_processors() {
  cpu_set_t mask;
  std::vector<int> out;
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return out;
  if (available_cores() < CPU_COUNT(&mask)) return out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &mask)) out.push_back(cpu);
  }
  return out;
}

int64_t memory_bytes() { return std::min(meminfo_bytes("MemTotal"), cgroup_memory()); }

int64_t available_memory_bytes() { return least_free(0, meminfo_bytes("MemAvailable")); }

int64_t free_memory_bytes() {
  const int64_t swap = meminfo_bytes("SwapFree");
  return least_free(swap, meminfo_bytes("MemAvailable") + swap);
}

}  // namespace rtrain::machine
