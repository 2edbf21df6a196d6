// host/machine/processes/thread_cpus.h: which processors the threads of this process run on.
#pragma once

#include <vector>

namespace rtrain::machine {

// Binds all present threads, and so also the threads that they start later.
void bind_all_threads(const std::vector<int>& cpus);

}  // namespace rtrain::machine
