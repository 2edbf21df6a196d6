// host/lua/libraries/engine_loader.h: loads librtrain_engine.so into the process on first use.
//
// LibTorch is loaded by absolute path, then the engine for its version (engine_image.h) from a
// sealed memory file. Workers inherit that file from the controller. RTRAIN_ENGINE=path loads the
// engine from a file, for debugging.
#pragma once

#include <vector>

#include "host/api/host_api.h"
#include "host/api/link_reading.h"
#include "host/api/profiler_api.h"
#include "host/lua/lua.h"

namespace rtrain::lua {

// Loads LibTorch and the engine (once a process) and pushes the engine's module table for this
// state. Throws Error(kEnvironment), which lists all searched paths, without a usable LibTorch.
// Thread: the one that will use the state.
int open_engine(lua_State* L, const api::HostApi* host);

// Loads both without a state, for a process that will use tensors soon. Throws as open_engine().
void preload_engine();

// Returns the descriptor of the sealed memory file that holds the engine, which the first call
// makes. It is never closed: a re-used descriptor number would make the dynamic linker return the
// old library. -1 without a LibTorch, and when memory files may not be executed.
int engine_fd();

// Loads the engine from that descriptor of the controller's engine_fd() later, if it is valid. A
// worker calls this before anything else.
void take_engine_file(int fd);

// True once LibTorch is in this process.
bool engine_loaded();

// Returns the engine's profiler; null until the engine is loaded.
const api::ProfilerApi* engine_profiler();

// For a train function in a thread, which cannot be killed when its attempt is over: its devices
// leave the collectives in which they wait for other ranks, so that the thread returns. May wait
// for the driver. Any thread.
void abort_device_groups();

// For lost ranks: every wait for a rank in a collective over a network ends with kPeerLost, and the
// existing process groups can do no further collective. Any thread.
void cut_groups();

// Returns the connections over which this process exchanges tensors with ranks of other nodes. Any
// thread.
std::vector<api::LinkReading> read_links();

}  // namespace rtrain::lua
