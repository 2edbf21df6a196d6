#include "host/lua/compiled_hooks.h"

namespace rtrain::lua {

bool hooks_reach_compiled_code() { return RTRAIN_LUAJIT_CHECKHOOK != 0; }

}  // namespace rtrain::lua
