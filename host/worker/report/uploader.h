// host/worker/report/uploader.h: the thread on which a worker stages the files of its checkpoints.
//
// The first checkpoint creates the thread. Any thread may call post(). Tasks run one after the
// other and must not throw. Reporter limits how many wait: one upload runs, and one more may wait
// for a folder that is staged on request.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "host/base/background_thread.h"
#include "host/loop/task_thread.h"

namespace rtrain::worker {

class Uploader {
 public:
  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (!thread_) {
      thread_ = std::make_unique<loop::TaskThread>("rtrain-upload");
      thread_->post(&enter_background);
    }
    thread_->post(std::move(task));
  }
  // Runs the remaining tasks and ends the thread.
  void finish() {
    const std::lock_guard lock(mutex_);
    thread_.reset();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<loop::TaskThread> thread_;
};

}  // namespace rtrain::worker
