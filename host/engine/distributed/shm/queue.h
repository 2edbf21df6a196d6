// host/engine/distributed/shm/queue.h: runs a group's collectives one after the other, on the
// caller's thread or on its own thread.
//
// Any thread. After one has failed all later ones fail, because the ranks' steps differ then.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

namespace rtrain::engine {

// A collective in progress.
class ShmWork final : public c10d::Work {
 public:
  ShmWork(c10d::OpType type, const std::vector<at::Tensor>& results);

  std::vector<at::Tensor> result() override { return results_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  // Null means success.
  void end(std::exception_ptr failure);

 private:
  std::vector<at::Tensor> results_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class ShmQueue {
 public:
  using Body = std::function<void()>;

  ShmQueue() = default;
  // Bodies that have not started fail. A running body must end by itself.
  ~ShmQueue();
  ShmQueue(const ShmQueue&) = delete;
  ShmQueue& operator=(const ShmQueue&) = delete;

  // Runs `body` after the earlier ones. With `waits` returns once it has ended and throws its
  // error; else a thread runs it, and the returned Work gets its end and its error.
  c10::intrusive_ptr<c10d::Work> run(c10d::OpType type, const std::vector<at::Tensor>& results,
                                     bool waits, Body body);

 private:
  void serve();
  void run_body(const Body& body);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<c10::intrusive_ptr<ShmWork>, Body>> items_;
  bool is_busy_ = false;
  bool is_ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace rtrain::engine
