// host/train/watch/runtime_watch.h: keeps the runtime folder's files young while a run continues,
// and says when the folder is gone.
//
// Belongs to the control thread; the folder is looked at on the io thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "host/loop/loop.h"
#include "host/loop/task_thread.h"
#include "host/loop/timer.h"
#include "host/machine/leases/runtime_folder.h"

namespace rtrain {

class RuntimeWatch {
 public:
  struct Periods {
    std::chrono::milliseconds look = std::chrono::seconds(5);
    std::chrono::milliseconds touch = std::chrono::hours(1);
  };
  // Told once, with the folder's path; nothing is watched afterwards.
  using OnGone = std::function<void(const std::string& path)>;

  // Throws kEnvironment where there is no runtime folder. `io` is idle before this ends.
  RuntimeWatch(Loop& loop, TaskThread& io, OnGone on_gone, Periods periods);
  RuntimeWatch(Loop& loop, TaskThread& io, OnGone on_gone)
      : RuntimeWatch(loop, io, std::move(on_gone), Periods()) {}

 private:
  void look();
  void on_seen(bool is_gone);

  Loop& loop_;
  TaskThread& io_;
  OnGone on_gone_;
  Periods periods_;
  RuntimeFolderMark folder_;
  std::chrono::milliseconds untouched_{0};
  Timer timer_;
};

}  // namespace rtrain
