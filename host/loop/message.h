// host/loop/message.h: what controller and worker say to each other. Each message is a map with a
// `type`.
//
// worker → controller
//   hello         version, build_id, pid   first message
//   phase         name                     engine_loaded, group_ready, running
//   report        index, time, metrics, …  see worker/reporter.h; `upload` says what it brings:
//                                          "files" (they follow), "folder" or nothing
//   files         index, files             a part of the list of staged files of report `index`
//   uploaded      index, checkpoint|folder|error  the rest of it; no files follow
//   series        chunk                    of a series of train.log, see store/series_store.h
//   series_dropped  count                  points that are lost
//   annotation    time, severity, text     of train.annotate; with an id, answered by a reply when
//                                          the rank may go on
//   call          id, op, …                a Store call: set get add check wait delete num_keys
//                                          compare_set
//   checkpoints   id, reports, validated, repeat, timeout_s, partial
//                                          get_all_reported_checkpoints(), answered by a reply
//   damaged       path, problem            files of a checkpoint are not those of its commit
//   cancel        id                       the caller of get or wait has stopped waiting
//   sync          id, sequence, collective, caller, world_size, data
//                                          it is in train.collective; the reply is {data} of rank 0
//                                          or {error}
//   stack         id, pid, state, lua, threads  the answer to `stack`: where its threads are
//   profile       id, path, events, seconds, reports, note | error  the answer to `profile`
//   stop_calls    round, calls             so many calls of stop_requested() have been made
//   stop_seen     index                    it has returned true, before the report of that index
//   signal        number                   this process got it
//   returned      value, reports           the train function returned after so many reports
//   failed        error                    it raised
// controller → worker
//   start         see WorkerContext
//   reply         id, value
//   part          id, bytes                a part of the answer to `checkpoints`, encoded
//   stack         id                       asks where the worker is
//   profile       id, path, seconds, steps, timeout_s, record_shapes  asks for a trace in that file
//   taken         count                    the reports below `count` have come from all ranks
//   named         index, name              the agreed name of the checkpoint, or ""
//   seal          index, folder            the rank is to stage that folder
//   reported      index, path or error     the checkpoint of report `index` is committed
//   stop_prepare  round                    hold the next call of stop_requested()
//   stop_release  round, at                let it go; `at`: the first call that returns true
//   exit                                   tear down and leave
//
// A channel belongs to one attempt, so no message carries its number: what an older attempt says
// cannot arrive.
#pragma once

#include <string>

#include "host/base/error.h"
#include "host/base/value.h"

namespace rtrain {

inline constexpr int kProtocolVersion = 1;

// Descriptors of a worker process.
inline constexpr int kChannelFd = 3;
inline constexpr int kFunctionsFd = 4;
inline constexpr int kProgressFd = 5;
inline constexpr int kEngineFd = 6;

// {code, message, traceback, time}, message and traceback cut at 64 KiB each: time is the monotonic
// clock's, the same in all processes of the host.
Value error_to_value(const Error& error, double time_s);
Error error_from_value(const Value& value);

// What a worker knows about its run: the fields of the message `start`.
struct WorkerContext {
  int world_size = 1;
  int world_rank = 0;
  int local_rank = 0;
  int local_world_size = 1;
  int node_rank = 0;
  std::string experiment_name;
  std::string run_id;
  int attempt = 1;
  std::string nonce;
  std::string storage_path;
  std::string run_path;
  int64_t log_bytes = 0;  // a rank's log keeps at most as many
  std::string backend;
  double timeout_s = 1800;
  double collective_timeout_s = 1800;  // of train.collective
  int threads = 1;
  std::vector<int> gpus;      // its devices, as this process numbers them
  int64_t first_index = 0;    // the number of the attempt's first report
  Value starting_checkpoint;  // {path, metrics, index} or nil
  // {checkpoint, fn_kwargs, timeout_s}: the process is no rank, it validates that checkpoint.
  Value validation;
};

Value to_value(const WorkerContext& context);
WorkerContext worker_context_from_value(const Value& value);

// The GNU build id of this executable, in hexadecimal; empty when it was linked without one.
std::string build_id();

}  // namespace rtrain
