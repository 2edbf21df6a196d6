// host/bind/elastic.h: the module `rtrain._elastic`: the worker's functions for train.elastic.
//
//   refusal() → why lost ranks cannot be replaced here, or nil; whether the run ends with a lost
//   rank
//   has_devices() → whether the ranks train on GPUs
//   next_report() → the number of this rank's next report
//   growth() → the folder for this rank's last commit if a larger group continues from it; "" if
//   the
//       same processes do; or nil
//   num_collectives() → how many collectives this rank has called in this attempt, including those
//                                through the controller
//   enter(step)                  this rank has the state of that step; 0: it will receive one
//   is_copied()                  whether the first node keeps a copy of this rank's bytes
//   prepare(step, small[, copy]) keeps the bytes, and waits until all ranks have prepared the step
//   commit(step, small)          commits the step
//   prepared(step) → bytes or nil   kept by prepare() in any process of this rank
//   committed(step) → bytes or nil  kept by commit()
//   set_healable(is)
//   leave()                      the other ranks do not wait for this rank any more
//   vote(hashes) → ranks, source    by the hashes of the ranks' states, from rank 0 on: the ranks
//                                that differ, and the first one that is believed; nil without a
//                                majority
//   row_keepers(nodes) → ranks   by the node of each rank, from 0 on: who keeps its rows
//   row_holders(sizes, ranks, kept) → ranks, are_kept   by what each rank has of the group before:
//                                the rank that has each rank's rows, or a copy; nil: not all of
//                                them are there
//   keeps_rows(sizes, ranks, kept, keepers) → whether the ranks that are left keep the rows that
//                                they should
//   go_back(step, index, error)  after an error; returns when this rank continues in a new attempt
// Outside of a worker each raises `argument`, except num_collectives, which returns 0, vote and
// those about rows.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_elastic(lua_State* L);

}  // namespace rtrain::bind
