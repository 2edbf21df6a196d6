// host/engine/operators/fast/fast_ops.h: fast paths for frequent operators, tried before the boxed
// call.
#pragma once

#include <string_view>

#include "host/lua/lua.h"

namespace rtrain::engine {

// The C function (its upvalue is the Op) that tries the fast path and falls back to call_op; null
// if the operator has none.
lua_CFunction find_fast_op(std::string_view name);

}  // namespace rtrain::engine
