// host/loop/loop.h: a libuv loop that belongs to one thread.
//
// Everything but post() belongs to the thread that calls run(). When a callback throws, the loop
// stops and run() rethrows the exception, so that it never unwinds through libuv.
#pragma once

#include <uv.h>

#include <exception>
#include <functional>
#include <mutex>
#include <vector>

namespace rtrain::loop {

class Loop {
 public:
  Loop();
  // REQUIRES: all handles on the loop are closed. Frees their memory.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs callbacks until stop(). Rethrows an exception of a callback.
  void run();
  // Makes run() return after the callbacks of this round have run.
  void stop();
  // Any thread: runs the task on the loop's thread, in the order of posting. Tasks posted after
  // run() has returned for the last time are dropped.
  void post(std::function<void()> task);

  // Calls the function; an exception stops the loop. Every handle calls its callback through this.
  template <class Function>
  void guard(Function&& function) {
    try {
      function();
    } catch (const std::exception&) {
      fail(std::current_exception());
    }
  }

  uv_loop_t* get() { return &loop_; }

 private:
  void run_tasks();
  void fail(std::exception_ptr failure);

  uv_loop_t loop_;
  uv_async_t wake_;
  std::exception_ptr failure_;
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;
};

}  // namespace rtrain::loop
