// host/lua/compiled_hooks.h: whether a hook stops a compiled loop too.
#pragma once

namespace rtrain::lua {

// Returns true with the LuaJIT that scripts/setup builds (LUAJIT_ENABLE_CHECKHOOK). With Debian's,
// a loop that never leaves its machine code never calls a hook.
bool hooks_reach_compiled_code();

}  // namespace rtrain::lua
