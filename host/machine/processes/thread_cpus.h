// host/machine/processes/thread_cpus.h: which processors the threads of a process run on.
#pragma once

#include <vector>

namespace rtrain::machine {

// Binds all present threads of this process, and so also the threads that they start later.
void bind_all_threads(const std::vector<int>& cpus);
// The same for another process of this user.
void bind_all_threads(int pid, const std::vector<int>& cpus);

}  // namespace rtrain::machine
