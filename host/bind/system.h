// host/bind/system.h: the module `rtrain._system`: clock, paths, folders, and what a checkpoint
// folder says of itself.
//
//   monotonic() → seconds
//   absolute(path) → path
//   make_folders(path), remove_tree(path), copy_tree(from, to)
//   make_temp(prefix) → path
//   get_metadata(folder) → table, set_metadata(folder, table)
//   verify(folder) → whether it is a committed checkpoint; raises when its files have changed since
//   start_command(text) → shell command that runs; :finish(timeout_s) → whether it has ended, what
//   it
//     has printed; it is killed with the object, or by :release()
//   lease(folder) → object held against retention until :release()
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_system(lua_State* L);

}  // namespace rtrain
