// host/worker/stack_report.h: answers the question where this worker is: Lua and native stacks.
//
// The lines of a busy main thread come from a hook, set by a signal that interrupts it: it runs at
// the next instruction of the interpreter, and of compiled code where LuaJIT looks for hooks there.
// Those of a main thread that waits come from its page.
#pragma once

#include "host/base/value.h"
#include "host/worker/native_stack.h"
#include "host/worker/progress.h"

namespace rtrain {

// [{name, tid, frames}], which fit into a message: of very many threads the last have fewer frames.
List to_list(const std::vector<ThreadStack>& stacks);

// {pid, state = "busy" | "waits in …", lua = list of "file:line", threads = list of {name, tid,
// frames}}. Takes up to a second; for a thread of its own, one at a time.
Map stack_report(Progress& progress);

}  // namespace rtrain
