// host/bind/local_worker.h: the module `rtrain._local`: this process as the worker of its own run.
//
//   join(fd, pump) → seat        of the event {type = "local_worker", fd}; from here on the
//   functions
//                                of rtrain._worker work. pump() is called while they wait
//   seat:disarm()                the train function is over: it is not interrupted any more
//   seat:finish(value)           the train function has returned; waits for the controller's answer
//   seat:fail(error)             it raised
//   seat:leave()                 the attempt is over for this process
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_local(lua_State* L);

}  // namespace rtrain
