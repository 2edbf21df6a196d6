// host/worker/stack_report.h: the answer to `rtrain stack`: this worker's Lua and native stacks.
//
// The Lua lines of a busy main thread come from a hook that a signal handler sets. The hook runs at
// the next instruction of the interpreter, or where compiled code looks for hooks. The lines of a
// main thread that waits come from its page.
#pragma once

#include <vector>

#include "host/loop/messages/to_controller.h"
#include "host/worker/profile/native_stack.h"
#include "host/worker/progress.h"

namespace rtrain::worker {

// Leaves out frames until the stacks fit into a message: with many threads the last ones lose some.
void fit_into_message(std::vector<loop::ThreadStack>& stacks);

// Returns the answer, without the request's id, within a second. Thread: its own, one at a time.
message::Stack stack_report(Progress& progress);

}  // namespace rtrain::worker
