// host/loop/processes/child_life.h: says whether a child still runs, and how it has ended. Needs no
// loop.
#pragma once

#include "host/loop/processes/process.h"

namespace rtrain::loop {

// kUnknown: the kernel has reaped the child, because other code in this process ignores SIGCHLD.
enum class ChildLife { kRuns, kEnded, kUnknown };

// Does not reap the child, so its pid stays its own.
ChildLife life_of_child(int pid);

// Waits for the child's end, kills it with its group when the time has passed, and reaps it.
ExitStatus end_child(int pid, double timeout_s);

}  // namespace rtrain::loop
