// host/loop/processes/child_life.h: whether a child still runs, and how it has ended, without a
// loop.
#pragma once

#include "host/loop/processes/process.h"

namespace rtrain::loop {

// kUnknown where the kernel has reaped it, since somebody in this process has SIGCHLD ignored.
enum class ChildLife { kRuns, kEnded, kUnknown };

// Does not reap it: its number stays its own.
ChildLife life_of_child(int pid);

// Waits for its end, kills it with its group when the time has passed, and reaps it.
ExitStatus end_child(int pid, double timeout_s);

}  // namespace rtrain::loop
