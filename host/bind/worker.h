// host/bind/worker.h: the module `rtrain._worker`: the train function's side of the run.
//
//   context() → table            world_size, world_rank, …, starting point of every getter of
//                                get_context(); starting_checkpoint {path, name, metrics, index,
//                                status} or nil; validation {fn_kwargs, timeout_s, checkpoint} or
//                                nil
//   take_place()                 waits, in a spare that has no rank yet, until it has one
//   functions() → bytes          what the controller got as spec.functions
//   phase(name)                  'engine_loaded', 'group_ready', 'running'
//   start_phases()               the train function begins: its time counts from here on
//   phase_seconds() → {data = s, forward = s, …}, steps of optimizers
//   report(metrics, {checkpoint, temporary, checkpoint_dir_name, checkpoint_upload_mode,
//                    delete_local_checkpoint_after_upload, validation, is_for_all}?) → path of
//                                the committed checkpoint; nil without one, and in mode ASYNC
//   begin_upload(metrics, options) → name, end_upload(folder, temporary) → path or nil,
//   fail_upload(error)           the same around a checkpoint_upload_fn
//   last_checkpoint() → path of the last committed one that this rank attached, or nil
//   log(metrics, step?) → nothing, or the key of the first value that is not a number
//   log_own(metrics, step)       the same for what rtrain itself records
//   annotate(text, severity)
//   log_media(kind, name, step, data)   bytes, or plain data, which becomes JSON
//   report_not_finite(step, what, place, is_in_replica)
//   report_health(text, is_conclusive)
//   show_loop{batch, rate, batches, batch_size, samples, dataset_size}
//                                how far a loop has come; all but the first may be nil
//   make_tempdir() → path
//   reported_checkpoints(validated, timeout_s or nil) → list
//                                of {path, name, metrics, index, status}
//   set_damaged(path, problem)
//   synchronize(collective, data) → rank 0's data
//                                waits until every rank has called that collective
//   stop_requested() → whether all ranks are to return, at the same call
//   is_stopping() → the same for a rank that never calls it, and does not count
//   busy(reason, seconds)        until then this rank's silence is not a hang
//   set_returned()               the train function has returned
//   set_program(pid)             the rank runs this program: it is stopped where the program is
//   set_gpus(numbers)            the devices that another launcher has given to this process
//   ask_script(name, argument, timeout_s, setting) → what the script answers
//   store_set(key, value), store_get(key, timeout_s) → value, store_delete(key) → existed
//                                the attempt's key-value store; store_get waits for the key
// In a process that is not a worker each of them raises `argument`.
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_worker(lua_State* L);

}  // namespace rtrain::bind
