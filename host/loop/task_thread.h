// host/loop/task_thread.h: one thread that runs tasks in the order of posting: the io thread of a
// controller.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>

namespace rtrain::loop {

class TaskThread {
 public:
  explicit TaskThread(const char* name);
  // Runs all posted work, then joins.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Any thread. The task must not throw.
  void post(std::function<void()> task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace rtrain::loop
