// host/worker/crash_handler.h: writes into the worker's page the code that a fatal signal
// interrupts.
//
// The signal then takes its usual way: the exit status and a core file are as without the handler.
// The text of an exception that is not caught is kept too.
#pragma once

#include "host/worker/progress.h"

namespace rtrain::worker {

// For the process's main thread, once. The object must live as long as the process.
void install_crash_handler(Progress& progress);

}  // namespace rtrain::worker
