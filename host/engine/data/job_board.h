// host/engine/data/job_board.h: what a pool's owner asked for and its threads have made so far.
//
// A job is a request with the results of it, any number of them. The owner submits jobs and takes
// their results: the oldest job's first or, with in_order = false, those of whichever job has one;
// the results of one job are never separated. Jobs begin in the order of submission.
//
// Threads: one owner (submit, next, clear, stop, …) and any number of workers (take, publish,
// has_room, finish, leave). Everything lies behind one mutex; no Lua and no user code runs under
// it. Trees that were handed over belong to the board, and to the one that takes them afterwards.
//
// Memory: while `capacity_bytes` or more lie here no result is begun, except one that the owner is
// bound to wait for. So at most capacity_bytes and one result of each worker are held, and no
// worker waits for ever.
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

namespace rtrain {

// Bytes of the value's tensors and strings, and of what holds them; a shared node counts once.
size_t tree_bytes(const Tree& tree);

struct BoardOptions {
  size_t capacity = 2;  // jobs in flight
  size_t capacity_bytes = SIZE_MAX;
  bool in_order = true;
};

using Values = std::vector<Tree>;

// What a worker is given. `number` and `request` do not change; the rest is the board's.
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

  std::deque<Item> items_;  // made and not taken
  std::optional<int> worker_;
  bool is_finished_ = false;   // no result follows those in `items_`
  bool is_forgotten_ = false;  // by clear(): no reader wants its results
};

struct WorkerStats {
  std::chrono::nanoseconds busy{0};     // in the pool's function
  std::chrono::nanoseconds idle{0};     // no request was there
  std::chrono::nanoseconds blocked{0};  // too many bytes were waiting to be taken
  int64_t results = 0;
};

struct BoardStats {
  std::vector<WorkerStats> workers;
  std::chrono::nanoseconds owner_wait{0};  // in next()
  size_t in_flight = 0;
  size_t results_waiting = 0;
  size_t bytes_waiting = 0;
};

class JobBoard {
 public:
  using Clock = std::chrono::steady_clock;

  JobBoard(BoardOptions options, int num_workers);
  JobBoard(const JobBoard&) = delete;
  JobBoard& operator=(const JobBoard&) = delete;

  // For the owner:

  // False, and nothing done, when `capacity` jobs are in flight.
  bool submit(Tree request);

  // What next() found.
  struct Taken {
    enum class Kind { kValues, kNothing, kTimeout } kind;
    Values values;
    // Of kTimeout: the job waited for and the worker that has it, if one has.
    std::shared_ptr<const Job> job = nullptr;
    std::optional<int> worker = std::nullopt;
  };
  // Waits until a result can be taken. kNothing when no job is in flight any more. Throws the error
  // that a worker published in the place of a result.
  Taken next(std::chrono::milliseconds timeout);

  // Forgets all jobs: their streams end at their next result.
  void clear();

  // Jobs submitted of which something may still be taken. A stream whose last result was taken, but
  // which did not say yet that it was the last one, counts.
  size_t in_flight() const;
  BoardStats stats() const;

  // Forgets all jobs and sends the workers home.
  void stop();
  // Whether all workers left within the time.
  bool wait_until_left(std::chrono::milliseconds timeout);
  bool has_left(int worker) const;

  // For the workers:

  // Waits for a job that may begin; nothing once the board was stopped.
  std::shared_ptr<Job> take(int worker);
  // Adds a result. False when no reader wants more of them.
  bool publish(Job& job, Values values);
  // The same for the last one: a result, or an error in the place of one.
  void publish_last(Job& job, Values values);
  void publish_last(Job& job, Error error);
  // Waits until the next result of the job may be made; false when no reader wants it.
  bool has_room(Job& job, int worker);
  // No result follows those published.
  void finish(Job& job);
  // The worker cannot serve: from now on next() throws this error when nothing else can be taken.
  void fail(const Error& error);
  // The worker's last call.
  void leave(int worker);

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool add(Job& job, Job::Item item, bool is_last);
  // The job that next() takes from, without those that ended; null when it has to wait.
  std::shared_ptr<Job> choose();
  bool is_awaited(const Job& job) const;
  bool may_make(const Job& job) const;
  bool can_begin() const;
  Values take_item(const std::shared_ptr<Job>& job);
  void erase(uint64_t number);

  const BoardOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable work_;  // a job arrived, room was made, or stopping_
  std::condition_variable done_;  // a result arrived, a job or worker ended, or broken_
  std::map<uint64_t, std::shared_ptr<Job>> jobs_;  // in flight
  std::deque<std::shared_ptr<Job>> queue_;         // those that no worker took
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

}  // namespace rtrain
