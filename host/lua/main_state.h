// host/lua/main_state.h: finds the main thread's state of a coroutine's virtual machine.
//
// Not in state.h, so that the engine library can use it without the embedded modules.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::lua {

// Returns the main thread's state of the VM that L belongs to.
lua_State* main_state(lua_State* L);

// Makes L known as the main state of its VM.
void set_main_state(lua_State* L);

}  // namespace rtrain::lua
