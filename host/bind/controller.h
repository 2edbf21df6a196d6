// host/bind/controller.h: the module `rtrain._controller`: start(spec) → run;
// run:next_event(timeout_s) → event or nil; run:close().
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_controller(lua_State* L);

}  // namespace rtrain
