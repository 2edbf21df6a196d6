// host/bind/ingest.h: the module `rtrain._ingest`: processes that produce blocks of rows for this
// one.
//
//   start(number, {threads =, cpus =}) → process: :pid(), :take_socket() → descriptor for
//     torch._C.data.Channel, :finish(timeout_s) → how it ended, as text
//   start_far(number, threads) → a process on another node of the job: :take_socket(), :finish();
//     and that node's name. Nothing if every node has ranks
//   processors() → the processors that this thread may run on
//   bind(processors): binds all threads of this process
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_ingest(lua_State* L);

}  // namespace rtrain::bind
