// host/worker/report/idle.h: the work that the main thread does while it waits, in local mode.
//
// There the thread that runs the train function also shows the run, calls callbacks and answers the
// controller's requests. It does this work while it waits in train.report() and similar functions.
// Elsewhere it only waits.
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
  // From now on waits of the calling thread call `work`. Call it before there are other threads.
  void set(std::function<void()> work) {
    work_ = std::move(work);
    thread_ = std::this_thread::get_id();
  }

  // As changed.wait_for. The lock is not held while the work runs. Throws what the work throws.
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
