// host/machine/processes/process_facts.h: the figures of /proc about a process of this user.
#pragma once

#include <cstdint>
#include <optional>

namespace rtrain::machine {

struct ProcessFacts {
  char state = '?';           // 'R', 'S', 'D', 'T', 'Z', …; '?' when there is no such process
  int parent = 0;             // 0 if it is not known
  uint64_t major_faults = 0;  // pages that were read from a disk when it touched them
  double cpu_s = 0;           // used so far, in user code and in the kernel
  double begun_s = 0;         // boot_s() when it was started
  int64_t memory_bytes = 0;   // resident
  std::optional<int> exit_status;  // as from waitpid, once the process is ending
};

ProcessFacts process_facts(int pid);

}  // namespace rtrain::machine
