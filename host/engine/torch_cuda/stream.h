// host/engine/torch_cuda/stream.h: a stream as an argument of engine functions.
#pragma once

#include <c10/core/Stream.h>

#include "host/lua/lua.h"

namespace rtrain::engine {

// Reads a stream: its device at the index, its id after it. Throws Error(kEnvironment) without
// CUDA, kArgument for a device that this process does not see.
c10::Stream check_stream(lua_State* L, int index);

}  // namespace rtrain::engine
