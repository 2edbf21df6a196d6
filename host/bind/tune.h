// host/bind/tune.h: the module `rtrain._tune`: processes of a sweep's trials, and messages between
// them and the sweep.
//
//   start({args, env, log}) → process: this executable with these arguments, its output in `log`
//   process:pid(), process:is_running()
//   process:send(signal)
//   process:finish(timeout_s) → 'exited with code 0', exit code or nil; kills what still runs
//   serve(name) → server at a socket of the runtime folder
//   server:next(timeout_s) → nothing, or peer, value; value nil: the peer has disconnected
//   server:answer(peer, value)
//   connect(name) → client; client:ask(value) → answer
//   watch_signals() → watch; watch:first() → nothing, or number and name of the signal that has
//     asked this process to end; a second one ends it
//   die_with_parent(pid) → whether that process is the parent; this process then ends with it
//   pid() → this process's pid
//   sync_file(path): fsyncs it and its folder
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_tune(lua_State* L);

}  // namespace rtrain::bind
