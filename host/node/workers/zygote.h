// host/node/workers/zygote.h: a process that has loaded LibTorch and makes workers of itself by
// fork: each is there in milliseconds, and shares with the others what loading has written to
// memory.
//
// Outlives the attempts of a run. It has one thread, makes no tensor and knows nothing of CUDA: a
// host with a driver has none. A worker is a child of this process like any other: the zygote forks
// twice, and while it does this process takes orphans in (PR_SET_CHILD_SUBREAPER). Without a
// zygote, or once it has ended, workers are started from the executable.
//
// Belongs to the loop's thread; may be made before the loop runs.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/loop/poll.h"
#include "host/loop/processes/process.h"

namespace rtrain {

class Zygote {
 public:
  // With the worker's pid; 0: there is no such process.
  using OnForked = std::function<void(int pid)>;
  // Whoever asked holds it. Once it is gone OnForked is not called, and a worker that comes
  // nevertheless is killed.
  using Request = std::shared_ptr<OnForked>;

  // Starts the process, with the workers' environment; it loads LibTorch while this one continues.
  // Throws SpawnError.
  Zygote(Loop& loop, std::vector<std::pair<std::string, std::string>> env, int engine_fd);
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // Asks for a worker, of these options all but file and args. The descriptors stay the caller's.
  // `on_forked` is called from the loop. Null where the zygote has ended or takes no more requests.
  Request fork(int rank, const ProcessOptions& options, OnForked on_forked);
  // Kills it: all requests will be answered with 0.
  void end();

 private:
  void begin_waiting();
  void end_waiting();
  void on_answers();
  void on_exit();
  void answer(int pid);

  Loop& loop_;
  std::deque<std::weak_ptr<OnForked>> waiting_;  // in the order of the requests
  std::optional<Poll> socket_;
  std::unique_ptr<Process> process_;
};

// RTRAIN_ZYGOTE=off: workers are started from the executable.
bool wants_zygote();

}  // namespace rtrain
