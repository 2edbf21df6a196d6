// host/bind/local_worker.h: the module `rtrain._local`: this process as the worker of its own run.
//
//   join(fd, pump, joined) → seat   of the event {type = "local_worker", fd}; from here on the
//                                functions of rtrain._worker work. pump() is called while they
//                                wait. `joined`: the fd is one of a job
//   job{socket, rank, fit, timeout_s} → job   the connection to rank 0 of a job that another
//                                launcher has started
//   job:next() → fd              of this process's next seat, or nil and the end of the run:
//                                {path, error}. Waits
//   seat:disarm()                the train function is over: it is not interrupted any more
//   seat:finish(value)           the train function has returned; waits for the controller's answer
//   seat:fail(error)             it raised
//   seat:pause_output(), seat:resume_output()
//                                around what this process prints for itself: it goes to the
//                                terminal and not to the rank's log
//   seat:leave()                 the attempt is over for this process
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_local(lua_State* L);

}  // namespace rtrain
