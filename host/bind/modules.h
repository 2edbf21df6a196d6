// host/bind/modules.h: the C modules that rtrain's Lua modules use.
//
//   base._system        clock, paths, folders, terminal, GPUs
//   base._arrow         readers and writers of tables, loaded at the first require
//   base._closure       dump(value) → bytes, load(bytes) → value: how functions travel
//   torch._C            the engine, loaded at the first require
//   text._C             tokenizers
//   rtrain._host        version, environment, what is in the store
//   rtrain._controller  starts a run (in the process of `rtrain run`)
//   rtrain._worker      report, checkpoint, context (in a worker process)
//   rtrain._local       the same in the process that called fit(), in local mode and under torchrun
#pragma once

#include "host/lua/state.h"

namespace rtrain::bind {

// Makes all of them available to require() in this Lua state.
void add_host_modules(lua::State& state);

}  // namespace rtrain::bind
