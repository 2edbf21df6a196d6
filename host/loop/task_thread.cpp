#include "host/loop/task_thread.h"

#include <pthread.h>

namespace rtrain::loop {

TaskThread::TaskThread(const char* name) : thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), name);
}

TaskThread::~TaskThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void TaskThread::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push(std::move(task));
  }
  changed_.notify_one();
}

void TaskThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    auto task = std::move(tasks_.front());
    tasks_.pop();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace rtrain::loop
