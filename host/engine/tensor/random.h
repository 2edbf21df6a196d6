// host/engine/tensor/random.h: random number generators as Lua values.
#pragma once

#include <ATen/core/Generator.h>

#include "host/lua/lua.h"

namespace rtrain {

// The generator at the index; null when it is none or was released.
at::Generator* test_generator(lua_State* L, int index);

}  // namespace rtrain
