// host/train/watch/runtime_watch.h: updates the times of the runtime folder's files during a run,
// so that they are not cleaned up, and reports if the folder was removed.
//
// Belongs to the control thread; the folder is accessed on the io thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "host/loop/loop.h"
#include "host/loop/task_thread.h"
#include "host/loop/timer.h"
#include "host/machine/leases/runtime_folder.h"

namespace rtrain::train {

class RuntimeWatch {
 public:
  struct Periods {
    std::chrono::milliseconds look = std::chrono::seconds(5);
    std::chrono::milliseconds touch = std::chrono::hours(1);
  };
  // Called once with the folder's path; the folder is not watched afterwards.
  using OnGone = std::function<void(const std::string& path)>;

  // Throws kEnvironment if there is no runtime folder. `io` must be idle when this is destroyed.
  RuntimeWatch(loop::Loop& loop, loop::TaskThread& io, OnGone on_gone, Periods periods);
  RuntimeWatch(loop::Loop& loop, loop::TaskThread& io, OnGone on_gone)
      : RuntimeWatch(loop, io, std::move(on_gone), Periods()) {}

 private:
  void look();
  void on_seen(bool is_gone);

  loop::Loop& loop_;
  loop::TaskThread& io_;
  OnGone on_gone_;
  Periods periods_;
  machine::RuntimeFolderMark folder_;
  std::chrono::milliseconds untouched_{0};
  loop::Timer timer_;
};

}  // namespace rtrain::train
