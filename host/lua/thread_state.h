// host/lua/thread_state.h: which Lua state the calling thread runs, for signal handlers on it.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::lua {

// Pass null when the thread runs no state any longer.
void set_thread_state(lua_State* L);
lua_State* thread_state();

}  // namespace rtrain::lua
