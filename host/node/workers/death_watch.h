// host/node/workers/death_watch.h: detects a worker's death before the kernel has freed its memory.
//
// A worker's main thread holds the mutex in its progress page for life (`alive`); when the thread
// ends, the kernel releases it first. The worker's exit status and the end of its channel come only
// after the kernel has freed its memory, which takes tens of milliseconds per gigabyte. A thread
// for each watched rank waits for that mutex without locking it: the kernel wakes the thread, so
// there is no polling.
//
// Belongs to the loop's thread. The board must outlive it. The destructor waits for the threads:
// those of ended processes have ended by then, and a live process's wakes up within a second.
#pragma once

#include <uv.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>

#include "host/loop/loop.h"
#include "host/pages/progress_board.h"

namespace rtrain::node {

class DeathWatch {
 public:
  // Called on the loop's thread, at most once for each watched rank.
  using OnDying = std::function<void(int rank)>;

  DeathWatch(loop::Loop& loop, pages::ProgressBoard& board, OnDying on_dying);
  ~DeathWatch();
  DeathWatch(const DeathWatch&) = delete;
  DeathWatch& operator=(const DeathWatch&) = delete;

  // Does nothing for a rank that has not taken its page, or if the system has no thread left: its
  // exit status reports the death later. A worker that leaves its page in order is not reported.
  void start(int rank);
  // The process has ended: nothing more is reported for it, even if a report is in progress.
  void forget(int rank);

 private:
  struct Watch : std::enable_shared_from_this<Watch> {
    Watch(DeathWatch& owner, int rank, pthread_mutex_t& alive)
        : owner(owner), rank(rank), alive(alive) {}

    DeathWatch& owner;
    int rank;
    pthread_mutex_t& alive;
    uv_thread_t thread{};
    std::atomic<bool> is_over{false};

    // Makes its thread end.
    void wake();
  };
  static void wait(void* watch);
  void tell(const Watch& watch);

  loop::Loop& loop_;
  pages::ProgressBoard& board_;
  OnDying on_dying_;
  std::map<int, std::shared_ptr<Watch>> watches_;  // by rank
};

}  // namespace rtrain::node
