// host/engine/operators/fast/fast_ops.h: typed paths for the hot operators, in front of the boxed
// call.
#pragma once

#include <string_view>

#include "host/lua/lua.h"

namespace rtrain {

// The C function (its upvalue is the Op) that tries the typed path and falls back to call_op; null
// where there is none.
lua_CFunction find_fast_op(std::string_view name);

}  // namespace rtrain
