// host/engine/data/job_board.h: the requests of a pool's owner and the results that its threads
// have made so far.
//
// A job is a request and its results, any number of them. The owner submits jobs and takes results:
// first those of the oldest job or, with in_order = false, those of any job that has one. The
// results of one job are never interleaved with others. Jobs begin in the order of submission.
//
// Threads: one owner (submit, next, clear, stop, …) and any number of workers (take, publish,
// has_room, finish, leave). One mutex guards everything; no Lua and no user code runs under it. The
// board owns the trees passed to it until they are taken.
//
// Memory: while the board holds `capacity_bytes` or more, no worker begins a result, except for the
// job that the owner must take from next. So at most capacity_bytes and one result per worker are
// held, and no worker waits forever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/base/error.h"
#include "host/engine/files/tree.h"

namespace rtrain::engine {

// Bytes of the value's tensors, strings and containers. A shared node counts once.
size_t tree_bytes(const Tree& tree);

struct BoardOptions {
  size_t capacity = 2;  // jobs in flight
  size_t capacity_bytes = SIZE_MAX;
  bool in_order = true;
};

using Values = std::vector<Tree>;

// A worker's job. `number` and `request` never change; the board guards the other members.
struct Job {
  const uint64_t number;
  const Tree request;

 private:
  friend class JobBoard;
  using Result = std::variant<Values, Error>;
  struct Item {
    Result result;
    size_t bytes;
  };
  Job(uint64_t job_number, Tree job_request)
      : number(job_number), request(std::move(job_request)) {}

  std::deque<Item> items_;  // published, not yet taken
  std::optional<int> worker_;
  bool is_finished_ = false;   // no more results will be added to `items_`
  bool is_forgotten_ = false;  // clear() was called: its results are not wanted
};

struct WorkerStats {
  std::chrono::nanoseconds busy{0};     // running the pool's function
  std::chrono::nanoseconds idle{0};     // waiting for a request
  std::chrono::nanoseconds blocked{0};  // waiting because too many bytes were not yet taken
  int64_t results = 0;
};

struct BoardStats {
  std::vector<WorkerStats> workers;
  std::chrono::nanoseconds owner_wait{0};  // in next()
  size_t in_flight = 0;
  size_t results_waiting = 0;
  size_t bytes_waiting = 0;
};

// Wide, because it has two users: the owner and the workers.
class JobBoard {
 public:
  using Clock = std::chrono::steady_clock;

  JobBoard(BoardOptions options, int num_workers);
  JobBoard(const JobBoard&) = delete;
  JobBoard& operator=(const JobBoard&) = delete;

  // For the owner:

  // False, and nothing done, when `capacity` jobs are in flight.
  bool submit(Tree request);

  // Result of next().
  struct Taken {
    enum class Kind { kValues, kNothing, kTimeout } kind;
    Values values;
    // For kTimeout: the awaited job, and the worker that runs it, if any.
    std::shared_ptr<const Job> job = nullptr;
    std::optional<int> worker = std::nullopt;
  };
  // Waits for a result and takes it. kNothing if no job is in flight. Throws the error if a worker
  // published one instead of a result.
  Taken next(std::chrono::milliseconds timeout);

  // Drops all jobs. Their streams end at their next result.
  void clear();

  // Number of submitted jobs that may still give a result. This includes a stream whose last result
  // was taken but which has not yet reported its end.
  size_t in_flight() const;
  BoardStats stats() const;

  // Drops all jobs and makes take() return null for all workers.
  void stop();
  // Returns whether all workers left within the time.
  bool wait_until_left(std::chrono::milliseconds timeout);
  bool has_left(int worker) const;

  // For the workers:

  // Waits for a job that may begin. Returns null after stop().
  std::shared_ptr<Job> take(int worker);
  // Adds a result. Returns false if no more results of the job are wanted.
  bool publish(Job& job, Values values);
  // Adds the last result of the job, or an error instead of one.
  void publish_last(Job& job, Values values);
  void publish_last(Job& job, Error error);
  // Waits until the job may make its next result. Returns false if its results are not wanted.
  bool has_room(Job& job, int worker);
  // The job has no more results.
  void finish(Job& job);
  // Reports that the worker cannot serve: next() throws this error once no result is left to take.
  void fail(const Error& error);
  // The last call of a worker.
  void leave(int worker);

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool add(Job& job, Job::Item item, bool is_last);
  // The job that next() takes from; null if it has to wait. Erases jobs that have ended.
  std::shared_ptr<Job> choose();
  bool is_awaited(const Job& job) const;
  bool may_make(const Job& job) const;
  bool can_begin() const;
  Values take_item(const std::shared_ptr<Job>& job);
  void erase(uint64_t number);

  const BoardOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable work_;  // a job arrived, bytes were taken, or stopping_
  std::condition_variable done_;  // a result arrived, a job or worker ended, or broken_
  std::map<uint64_t, std::shared_ptr<Job>> jobs_;  // in flight
  std::deque<std::shared_ptr<Job>> queue_;         // not yet taken by a worker
  std::optional<uint64_t> current_;  // without in_order: the job whose results are being taken
  uint64_t next_number_ = 0;
  size_t bytes_ = 0;
  std::optional<Error> broken_;
  bool stopping_ = false;
  std::vector<bool> left_;
  std::vector<WorkerStats> stats_;
  std::vector<Clock::time_point> busy_since_;
  std::chrono::nanoseconds owner_wait_{0};
};

}  // namespace rtrain::engine
