// host/engine/runtime/chunk.h: short Lua chunks of the engine, for code that the JIT compiler
// should inline.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::engine {

// Calls the chunk with the last `nargs` values on the stack and replaces them by its result.
void run_chunk(lua_State* L, const char* text, int nargs);

}  // namespace rtrain::engine
