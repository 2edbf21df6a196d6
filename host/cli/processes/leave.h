// host/cli/processes/leave.h: the end of a process that has loaded LibTorch.
#pragma once

#include "host/lua/state.h"

namespace rtrain::cli {

// Ends the process without destructors, because threads of the engine may be running and LibTorch's
// destructors only free memory. Flushes the standard streams.
[[noreturn]] void leave(int code);

// Makes Lua's os.exit call leave(). `os.exit(code, true)` closes the Lua state first if
// `may_close`, which means that no other thread uses it.
void replace_os_exit(lua::State& state, bool may_close);

}  // namespace rtrain::cli
