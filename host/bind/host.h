// host/bind/host.h: the module `rtrain._host`: this machine, the store's read side, and checkpoint
// directories.
//
//   version() → "0.1.0"                    env() → what `rtrain env --json` prints
//   storage_default() → path
//   run(storage, RUN) → the document of `rtrain show`, with note, error, checkpoint_config and
//   events metrics(storage, RUN, ranks, all) → rows       checkpoints(storage, RUN, all) → rows
//   get_metadata(dir) → table              set_metadata(dir, table)
//   verify(dir) → {name, attempt, index, metrics}; raises `checkpoint` naming the damaged file
//   lease(dir) → object that keeps retention away from the directory until :release()
//   copy_folder(source, target): target must not exist
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_host(lua_State* L);

}  // namespace rtrain
