// host/worker/stack_report.h: answers the question where this worker is: Lua and native stacks.
//
// The lines of a busy main thread come from a hook, set by a signal that interrupts it: it runs at
// the next instruction of the interpreter, and of compiled code where LuaJIT looks for hooks there.
// Those of a main thread that waits come from its page.
#pragma once

#include <vector>

#include "host/loop/messages/to_controller.h"
#include "host/worker/profile/native_stack.h"
#include "host/worker/progress.h"

namespace rtrain::worker {

// Leaves frames out until the stacks fit into a message: of very many threads the last have fewer.
void fit_into_message(std::vector<loop::ThreadStack>& stacks);

// Without the request's id. Takes up to a second; for a thread of its own, one at a time.
message::Stack stack_report(Progress& progress);

}  // namespace rtrain::worker
