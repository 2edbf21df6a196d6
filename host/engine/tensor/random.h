// host/engine/tensor/random.h: random number generators as Lua values.
#pragma once

#include <ATen/core/Generator.h>

#include "host/lua/lua.h"

namespace rtrain {

// The generator at the index; null when it is not a generator or was released.
at::Generator* test_generator(lua_State* L, int index);

// A seed as PyTorch takes it: an integer from -2^63 up to 2^64 - 1; a negative one counts from 2^64
// down. Throws Error(kArgument).
uint64_t check_seed(lua_State* L, int index);

}  // namespace rtrain
