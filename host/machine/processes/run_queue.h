// host/machine/processes/run_queue.h: how long the threads of a process have waited for a core.
#pragma once

#include <optional>

namespace rtrain::machine {

// Returns the seconds in which a thread of the process was ready to run but another one had its
// core, of all its present threads together. Nothing if the kernel does not count them.
std::optional<double> run_queue_wait_s(int pid);

}  // namespace rtrain::machine
