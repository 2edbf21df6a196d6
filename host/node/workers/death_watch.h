// host/node/workers/death_watch.h: learns of a worker's death before the kernel has freed its
// memory.
//
// A worker's main thread holds the mutex in its progress page for life (`alive`); the kernel gives
// it away first thing as the thread ends. The worker's exit status and the end of its channel come
// only when its memory is gone, tens of milliseconds later for each gigabyte. A thread for each
// watched rank sleeps in that mutex, which it never takes: the kernel wakes it, nothing is polled.
//
// Belongs to the loop's thread. The board outlives it. Its destructor waits for the threads: those
// of processes that have ended are over by then, a live one's wakes up within a second.
#pragma once

#include <uv.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>

#include "host/loop/loop.h"
#include "host/pages/progress_board.h"

namespace rtrain {

class DeathWatch {
 public:
  // Called on the loop's thread, at most once for each rank that is watched.
  using OnDying = std::function<void(int rank)>;

  DeathWatch(Loop& loop, ProgressBoard& board, OnDying on_dying);
  ~DeathWatch();
  DeathWatch(const DeathWatch&) = delete;
  DeathWatch& operator=(const DeathWatch&) = delete;

  // Nothing for a rank that has not taken its page, or when the system has no thread to spare: its
  // exit status tells later. A worker that leaves its page in order is not reported.
  void start(int rank);
  // Of a process that is gone: nothing more is said of it, whatever is under way.
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

    // Its thread is to end.
    void wake();
  };
  static void wait(void* watch);
  void tell(const Watch& watch);

  Loop& loop_;
  ProgressBoard& board_;
  OnDying on_dying_;
  std::map<int, std::shared_ptr<Watch>> watches_;  // by rank
};

}  // namespace rtrain
