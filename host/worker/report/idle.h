// host/worker/report/idle.h: the work of the main thread while it waits.
//
// In local mode the thread that runs the train function is also the one that shows the run, calls
// callbacks and answers the controller's questions: while it waits in report() and its like, it
// continues with that.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace rtrain::worker {

class Idle {
 public:
  // Waits of the calling thread call the function from now on. Before other threads exist.
  void set(std::function<void()> work) {
    work_ = std::move(work);
    thread_ = std::this_thread::get_id();
  }

  // As changed.wait_for; the lock is not held while the function runs, which may throw.
  template <class Ready>
  bool wait_for(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                std::chrono::milliseconds timeout, Ready ready) const {
    if (!work_ || thread_ != std::this_thread::get_id()) {
      return changed.wait_for(lock, timeout, ready);
    }
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!changed.wait_for(lock, kSlice, ready)) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      lock.unlock();
      work_();
      lock.lock();
    }
    return true;
  }

 private:
  static constexpr std::chrono::milliseconds kSlice{20};
  std::function<void()> work_;
  std::thread::id thread_;
};

}  // namespace rtrain::worker
