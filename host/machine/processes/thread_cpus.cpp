#include "host/machine/processes/thread_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace rtrain::machine {

void bind_all_threads(const std::vector<int>& cpus) { bind_all_threads(getpid(), cpus); }

void bind_all_threads(int pid, const std::vector<int>& cpus) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &wanted);
  std::error_code ignored;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    sched_setaffinity(std::atoi(task.path().filename().c_str()), sizeof(wanted), &wanted);
  }
}

}  // namespace rtrain::machine
