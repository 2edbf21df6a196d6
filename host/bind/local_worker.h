// host/bind/local_worker.h: the module `rtrain._local`: this process as the worker of its own run.
//
//   join(fd, pump, joined) → endpoint   of the event {type = "local_worker", fd}; from here on the
//                                functions of rtrain._worker work. pump() is called while they
//                                wait. `joined`: the fd is one of a job
//   job{socket, rank, local_rank, is_remote, fit, timeout_s} → job   the connection to the process
//                                of this node that knows of the run, of a job whose ranks a
//                                launcher has started
//   job:next() → fd              of this process's next endpoint, or nil and the end of the run:
//                                {path, error}, or nil, nil and an exit code: the job is over.
//                                Waits
//   endpoint:arm()               the train function begins: the end of the attempt interrupts it
//   endpoint:disarm()            it is over: it is not interrupted any more
//   endpoint:finish(value)       the train function has returned; waits for the controller's answer
//   endpoint:fail(error)         it raised
//   endpoint:pause_output(), endpoint:resume_output()
//                                around what this process prints for itself: it goes to the
//                                terminal and not to the rank's log
//   endpoint:leave()             the attempt is over for this process
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_local(lua_State* L);

}  // namespace rtrain::bind
