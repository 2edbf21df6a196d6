// host/node/workers/zygote.h: a process that has loaded LibTorch and forks workers: a fork
// takes milliseconds, and workers share the memory that loading has written.
//
// Outlives the attempts of a run. It has one thread, creates no tensor and does not use
// CUDA: nodes with a driver have no zygote. A worker is a child of this process like any
// other: the zygote forks twice, and meanwhile this process adopts orphans
// (PR_SET_CHILD_SUBREAPER). Without a zygote, or once it has ended, workers are started from
// the executable.
//
// Belongs to the loop's thread; may be created before the loop runs.
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

namespace rtrain::node {

class Zygote {
 public:
  // Called with the worker's pid; 0: there is no such process.
  using OnForked = std::function<void(int pid)>;
  // Held by the caller. Once it is destroyed OnForked is not called, and a worker that is forked
  // nevertheless is killed.
  using Request = std::shared_ptr<OnForked>;

  // Starts the process with the workers' environment; it loads LibTorch while this process
  // continues. Throws SpawnError.
  Zygote(loop::Loop& loop, std::vector<std::pair<std::string, std::string>> env, int engine_fd);
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // Requests a worker with these options, except file and args. The caller keeps the descriptors.
  // `on_forked` is called from the loop. Returns null if the zygote has ended or takes no more
  // requests.
  Request fork(int rank, const loop::ProcessOptions& options, OnForked on_forked);
  // Kills it: all requests are answered with 0.
  void end();

 private:
  void begin_waiting();
  void end_waiting();
  void on_answers();
  void on_exit();
  void answer(int pid);

  loop::Loop& loop_;
  std::deque<std::weak_ptr<OnForked>> waiting_;  // in order of the requests
  std::optional<loop::Poll> socket_;
  std::unique_ptr<loop::Process> process_;
};

// False with RTRAIN_ZYGOTE=off: workers are then started from the executable.
bool wants_zygote();

}  // namespace rtrain::node
