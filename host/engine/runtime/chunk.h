// host/engine/runtime/chunk.h: the engine's own pieces of Lua, for what the JIT compiler should see
// through.
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Leaves what the chunk returns in the place of its arguments, the last values on the stack.
void run_chunk(lua_State* L, const char* text, int nargs);

}  // namespace rtrain
