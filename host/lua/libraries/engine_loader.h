// host/lua/libraries/engine_loader.h: brings librtrain_engine.so into the process on first use.
//
// LibTorch is loaded by absolute path, then the engine for its version (engine_image.h) from a
// sealed memory file. Workers inherit that file from the controller. RTRAIN_ENGINE=path loads the
// engine from a file, for debugging.
#pragma once

#include "host/api/host_api.h"
#include "host/api/profiler_api.h"
#include "host/lua/lua.h"

namespace rtrain::lua {

// Loads LibTorch and the engine (once a process) and pushes its module table for this state. Throws
// Error(kEnvironment) with every place looked at when there is no usable LibTorch. Must be called
// by the thread that will use the state.
int open_engine(lua_State* L, const api::HostApi* host);

// The first half of it, for a process that will use tensors soon. Throws as above.
void preload_engine();

// The file descriptor of the sealed memory file that holds the engine, made on first call and never
// closed: a re-used descriptor number would make the dynamic linker return the old library. -1
// without a LibTorch, and when memory files may not be executed.
int engine_fd();

// The engine comes from that descriptor of the controller's engine_fd(), if it is one. For a
// worker, first thing.
void take_engine_file(int fd);

// True once LibTorch is in this process.
bool engine_loaded();

// The engine's profiler; null until it is loaded.
const api::ProfilerApi* engine_profiler();

// The attempt is over for a train function that cannot be killed: its devices leave the collectives
// in which they wait for other ranks, so that its thread comes back. May wait for the driver; any
// thread.
void abort_device_groups();

// Other ranks are lost: whoever waits for one in a collective over a network comes back with
// kPeerLost, and the groups there are can do no further one. Any thread.
void cut_groups();

}  // namespace rtrain::lua
