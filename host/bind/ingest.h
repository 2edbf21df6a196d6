// host/bind/ingest.h: the module `rtrain._ingest`: processes that make blocks of rows for this one.
//
//   start(number, {threads =, cpus =}) → process: :pid(), :take_socket() → descriptor for
//     torch._C.data.Channel, :finish(timeout_s) → how it ended, as text
//   start_far(number, threads) → one on another host of the job: :take_socket(), :finish(); and the
//     name of that host. Nothing where no host is without ranks
//   processors() → the processors that this thread may run on
//   bind(processors): all threads of this process
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_ingest(lua_State* L);

}  // namespace rtrain
