// host/bind/controller.h: the module `rtrain._controller`: start(spec) → run;
// run:next_event(timeout_s) → event or nil; run:answer(id, value) and run:answer_error(id, error)
// for an event {type = "call", id, name, argument}; run:close().
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_controller(lua_State* L);

}  // namespace rtrain
