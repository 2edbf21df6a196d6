// host/lua/closure/closure.h: how functions and the values they capture travel to another Lua
// state.
//
// Identity is kept over tables, functions and upvalue cells: what was shared or recursive is shared
// or recursive again. An object that package.loaded leads to travels as (module, path). The texts
// of all user modules loaded so far travel along, so that the other state does not load a version
// that was edited later. Script globals that a function reads or writes travel with it. A table or
// userdata whose metatable has `__pack` (self → module, function, state) is rebuilt as
// require(module)[function](state). What cannot travel (a coroutine, an open file, a foreign
// userdata) becomes a value that raises at its first use, naming the variable and where it was
// captured.
#pragma once

#include <string>
#include <string_view>

#include "host/lua/lua.h"

namespace rtrain::lua {

inline constexpr size_t kClosureWarnBytes = size_t{100} << 20;
inline constexpr size_t kClosureMaxBytes = size_t{1} << 30;

struct ClosureDump {
  std::string bytes;
  std::string warning;  // names the largest captured variables; empty below kClosureWarnBytes
};

// Serializes the value at the index. The same value gives the same bytes. Throws Error(kConfig),
// which names the largest variables, above kClosureMaxBytes, and whatever a `__pack` raises.
ClosureDump dump_closure(lua_State* L, int index);

// Pushes the value. The user's code runs only after every upvalue is set. Throws Error(kInternal)
// for bytes that dump_closure did not write, and whatever a module raises while it is loaded.
void load_closure(lua_State* L, std::string_view bytes);

}  // namespace rtrain::lua
