// host/lua/lua.h: LuaJIT's headers, in the one place that knows where they lie.
#pragma once

#include <luajit-2.1/lua.hpp>
