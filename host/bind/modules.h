// host/bind/modules.h: the C modules that rtrain's Lua modules stand on.
//
//   torch._C            the engine, loaded at the first require
//   rtrain._host        version, environment, engine state
//   rtrain._closure     dump(value) → bytes, load(bytes) → value: how functions travel
//   rtrain._controller  starts a run (in the process of `rtrain run`)
//   rtrain._worker      report, checkpoint, context (in a worker process)
#pragma once

#include "host/lua/state.h"

namespace rtrain {

// Makes all of them requirable in this state.
void add_host_modules(State& state);

}  // namespace rtrain
