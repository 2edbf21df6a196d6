// host/worker/crash_handler.h: writes a fatal signal, and the frames that it interrupts, into the
// worker's page.
//
// Then the signal has its usual effect: exit status and core file are the same as without the
// handler. The text of an exception that is not caught is written too.
#pragma once

#include "host/worker/progress.h"

namespace rtrain::worker {

// Called once, on the process's main thread. The object must live as long as the process.
void install_crash_handler(Progress& progress);

}  // namespace rtrain::worker
