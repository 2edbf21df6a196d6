// host/cli/processes/leave.h: the end of a process that has loaded LibTorch.
#pragma once

#include "host/lua/state.h"

namespace rtrain {

// Ends the process without running destructors: threads of the engine may be at work, and
// LibTorch's own only free memory. Standard streams are flushed.
[[noreturn]] void leave(int code);

// Lua's os.exit ends the process with leave(). `os.exit(code, true)` closes the state before, where
// `may_close` says that no other thread uses it.
void replace_os_exit(State& state, bool may_close);

}  // namespace rtrain
