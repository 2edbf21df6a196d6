// host/bind/closure.h: the module `base._closure`: dump(value) → bytes, warning; load(bytes) →
// value.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_closure(lua_State* L);

}  // namespace rtrain::bind
