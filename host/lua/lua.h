// host/lua/lua.h: LuaJIT's headers, in the one place that knows where they lie.
#pragma once

#include <luajit-2.1/lua.hpp>

namespace rtrain::lua {

inline constexpr int kCdata = LUA_TTHREAD + 2;  // LuaJIT's type number of FFI objects

}  // namespace rtrain::lua
