// host/engine/data/pool.h: threads that make batches, each with its own Lua state.
//
// The owner (one Lua state's thread) submits requests and takes what a Lua function made of them;
// job_board.h says in which order and how much may lie in between. A worker loads the function once
// and calls it with (request, worker id). It returns the values of the one result, or a single
// function: a stream. That is called in the same thread until its first value is nil; the values of
// each call are one result.
//
// Who may touch what: the board is shared by all and guards itself; a Lua state belongs to its
// worker from beginning to end; the options do not change; everything else is the owner's. What a
// worker needs is kept alive by the worker itself, so that one that does not come back from a
// user's function can be left behind.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host/api/host_api.h"
#include "host/engine/data/job_board.h"
#include "host/engine/files/shared_storages.h"

namespace rtrain {

struct PoolOptions {
  std::string name = "Pool";  // begins messages
  std::string function;       // bytes of base._closure.dump: function(request, worker_id)
  StorageList storages;  // what the function's tensors lie in, as far as it was dumped for threads
  int num_workers = 1;
  int first_worker = 0;  // the id of the first one
  BoardOptions board;
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  std::chrono::milliseconds close_timeout = std::chrono::seconds(5);
  std::string timeout_name = "timeout_s";  // the user's setting, for messages
};

class Pool {
 public:
  // REQUIRES: the host has new_state and close_state, and lives as long as the process.
  Pool(const HostApi& host, PoolOptions options);
  // Like close().
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Queues a request. False, and nothing done, when as many are in flight as may be. Throws
  // Error(kArgument) after close().
  bool submit(Tree request);

  // The next result's values; none when nothing is in flight. Throws the error that its worker
  // raised, naming worker and request, and Error(kTimeout) when it takes longer than the time-out:
  // the request stays in flight.
  Values next();

  // Forgets all requests and results: a new epoch begins, or a loop was left early. A stream ends
  // at its next result.
  void clear();

  // Requests of which something may still be taken.
  size_t in_flight() const;

  BoardStats stats() const;

  // Forgets all and ends the threads; again has no effect. Waits for the results being made at that
  // moment, at most close_timeout: a thread that a user's function keeps longer is left behind,
  // with a warning, and ends when the function does.
  void close();

 private:
  struct Shared;
  class Worker;

  const HostApi& host_;
  const std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
  bool is_closed_ = false;
};

}  // namespace rtrain
