// host/engine/distributed/shm/queue.h: runs a group's collectives one after the other, on the
// caller's thread or on one of its own.
//
// Any thread. What fails fails all that come behind it: the ranks are no longer at one place.
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

namespace rtrain {

// A collective that is under way.
class ShmWork final : public c10d::Work {
 public:
  ShmWork(c10d::OpType type, const std::vector<at::Tensor>& results);

  std::vector<at::Tensor> result() override { return results_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  // Null: it has succeeded.
  void end(std::exception_ptr failure);

 private:
  std::vector<at::Tensor> results_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class ShmQueue {
 public:
  using Body = std::function<void()>;

  ShmQueue() = default;
  // What has not begun fails. A body that is at work has to end by itself.
  ~ShmQueue();
  ShmQueue(const ShmQueue&) = delete;
  ShmQueue& operator=(const ShmQueue&) = delete;

  // Runs the body behind those before it. With `waits` it has ended when this returns, and its
  // error is thrown; else a thread runs it, and the work has both.
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

}  // namespace rtrain
