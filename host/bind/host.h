// host/bind/host.h: the module `rtrain._host`: this machine and the store's read side.
//
//   version() → "0.1.0"
//   env() → what `rtrain env --json` prints
//   storage_default() → path
//   run(storage, RUN) → the document of `rtrain show` and what is known beside it
//   metrics(storage, RUN, ranks, all) → rows
//   checkpoints(storage, RUN, all) → rows
//   verify(dir) → {name, attempt, index, metrics}; raises `checkpoint` naming the damaged file
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_host(lua_State* L);

}  // namespace rtrain
