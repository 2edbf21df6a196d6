// host/machine/thread_cpus.h: which processors the threads of a process run on.
#pragma once

#include <vector>

namespace rtrain {

// Binds every thread that there is now, and with it those that they start later. 0: this process.
void bind_all_threads(const std::vector<int>& cpus, int pid = 0);

}  // namespace rtrain
