// host/machine/processes/thread_cpus.h: which processors the threads of this process run on.
#pragma once

#include <vector>

namespace rtrain::machine {

// Binds every thread that there is now, and with it those that they start later.
void bind_all_threads(const std::vector<int>& cpus);

}  // namespace rtrain::machine
