// host/bind/elastic.h: the module `rtrain._elastic`: what train.elastic needs of the worker.
//
//   refusal() → why lost ranks cannot be replaced here, or nil; whether the run ends with one
//   has_devices() → whether the ranks train on GPUs
//   next_report() → the number of this rank's next report
//   growth() → the folder for this rank's last commit, since a larger group continues from it; or
//   nil num_collectives() → how many this rank has called in this attempt, over the controller too
//   enter(step)                  this rank holds that step; 0: it will get one
//   prepare(step, small)         keeps the bytes, and waits until all ranks have come as far
//   commit(step, small)
//   prepared(step) → bytes or nil   what a process of this rank has kept in prepare()
//   committed(step) → bytes or nil  in commit()
//   set_healable(is)
//   leave()                      the others do not wait for this rank any more
//   go_back(step, index, error)  behind it; returns when this rank continues in another attempt
// In a process that is not a worker each of them raises `argument`, but for num_collectives: 0.
#pragma once

#include "host/lua/lua.h"

namespace rtrain {

// Pushes the module.
int open_elastic(lua_State* L);

}  // namespace rtrain
