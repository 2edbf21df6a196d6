// host/lua/lua.h: includes LuaJIT's headers; no other file names their paths.
#pragma once

#include <luajit-2.1/lua.hpp>

namespace rtrain::lua {

inline constexpr int kCdata = LUA_TTHREAD + 2;  // LuaJIT's type number of FFI objects

}  // namespace rtrain::lua
