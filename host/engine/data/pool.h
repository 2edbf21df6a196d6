// host/engine/data/pool.h: threads that make batches, each with its own Lua state.
//
// The owner (the thread of one Lua state) submits requests and takes the results of a Lua
// function; job_board.h describes the order and the limits. A worker loads the function once
// and calls it with (request, worker id). The function returns the values of its one result, or
// a single function: a stream. The worker calls the stream until its first value is nil; the
// values of each call are one result.
//
// Threads: all threads share the board, which locks itself; a Lua state belongs to one worker for
// its whole life; options do not change; everything else belongs to the owner. A worker keeps all
// objects alive that it needs, so the pool can abandon a worker that does not return from a user's
// function.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host/api/host_api.h"
#include "host/base/default_timeout.h"
#include "host/engine/data/job_board.h"
#include "host/engine/files/shared_storages.h"

namespace rtrain::engine {

struct PoolOptions {
  std::string name = "Pool";  // prefix of error messages
  std::string function;       // bytes of base._closure.dump: function(request, worker_id)
  StorageList storages;       // memory of the function's tensors, if it was dumped for threads
  int num_workers = 1;
  int first_worker = 0;  // id of the first worker
  BoardOptions board;
  std::chrono::milliseconds timeout = kDefaultTimeout;
  std::chrono::milliseconds close_timeout = std::chrono::seconds(5);
  std::string timeout_name = "timeout_s";  // name of the user's setting, for messages
};

class Pool {
 public:
  // REQUIRES: the host offers new_state and close_state, and lives as long as the process.
  Pool(const api::HostApi& host, PoolOptions options);
  // Like close().
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Queues a request. Returns false, and does nothing, if `capacity` requests are in flight. Throws
  // Error(kArgument) after close().
  bool submit(Tree request);

  // The values of the next result; empty if nothing is in flight. Throws the worker's error, which
  // names worker and request, and Error(kTimeout) after the time-out: the request then stays in
  // flight.
  Values next();

  // Drops all requests and results, for a new epoch or after a loop was left early. A stream ends
  // at its next result.
  void clear();

  // Number of requests that may still give a result.
  size_t in_flight() const;

  BoardStats stats() const;

  // Drops everything and ends the threads. A second call has no effect. Waits for the results being
  // made at that moment, at most close_timeout. A thread that is still in a user's function then is
  // abandoned with a warning, and ends when the function returns.
  void close();

 private:
  struct Shared;
  class Worker;

  const api::HostApi& host_;
  const std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
  bool is_closed_ = false;
};

}  // namespace rtrain::engine
