// host/engine/data/loader.h: threads that make batches: each has its own Lua state, results come in
// the order of submission.
//
// The owner (one Lua state's thread) submits what to load and takes what was loaded; at most
// `capacity` batches are in flight. A worker thread loads the function once and calls it for every
// batch it takes. Nothing of one state is touched by another thread: requests and batches cross as
// trees. The destructor waits for the batches being made at that moment.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "host/base/error.h"
#include "host/base/host_api.h"
#include "host/engine/files/tree.h"

namespace rtrain {

struct LoaderOptions {
  std::string function;  // bytes of rtrain._closure.dump: function(request) → values of the batch
  int num_workers = 1;
  int prefetch_factor = 2;  // batches in flight for each worker
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
};

class Loader {
 public:
  // REQUIRES: the host has new_state and close_state, and outlives the loader.
  Loader(const HostApi& host, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Queues a request. False, and nothing done, when as many batches are in flight as may be.
  bool submit(Tree request);

  // The values of the oldest request that was not taken yet. Throws the error that its worker
  // raised, naming the worker and the request; Error(kTimeout) when it takes too long;
  // Error(kArgument) when nothing was submitted.
  std::vector<Tree> next();

  // Forgets all requests and batches: a new epoch begins, or a loop was left early.
  void clear();

  // Batches submitted and not taken.
  size_t in_flight() const;

 private:
  struct Request {
    uint64_t number;
    Tree tree;
  };
  using Result = std::variant<Tree, Error>;

  void run_worker(int worker);
  void serve(lua_State* L, int worker);
  std::optional<Request> take();
  void finish(uint64_t number, Result result);
  // The worker cannot serve (its function did not load): every request fails with this error.
  void fail_all(const Error& error);

  const HostApi& host_;
  const LoaderOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable work_;  // a request arrived, or stopping_
  std::condition_variable done_;  // a result arrived, or broken_
  std::deque<Request> queue_;
  std::map<uint64_t, Result> results_;
  std::map<uint64_t, Tree> open_;  // requests not taken yet, by number, for messages
  uint64_t next_number_ = 0;       // of the next request
  uint64_t first_live_ = 0;        // results of older requests are dropped: clear() was called
  std::optional<Error> broken_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rtrain
