// host/engine/tensor/random.h: random number generators as Lua values.
#pragma once

#include <ATen/core/Generator.h>

#include "host/lua/lua.h"

namespace rtrain::engine {

// The generator at the index; null if it is not a generator or was released.
at::Generator* test_generator(lua_State* L, int index);

// Reads a seed as PyTorch does: an integer from -2^63 to 2^64 - 1; 2^64 is added to a negative one.
// Throws Error(kArgument).
uint64_t check_seed(lua_State* L, int index);

}  // namespace rtrain::engine
