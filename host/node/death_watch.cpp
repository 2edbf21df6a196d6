#include "host/node/death_watch.h"

#include <ctime>
#include <utility>

namespace rtrain {
namespace {

constexpr time_t kLookUpS = 1;
// Of addresses: a thread that only sleeps touches two pages.
constexpr size_t kStackBytes = size_t{256} << 10;

// What pthread_mutex_lock gives, or ETIMEDOUT.
int lock_for(pthread_mutex_t& mutex, time_t seconds) {
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += seconds;
  return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
}

}  // namespace

DeathWatch::DeathWatch(Loop& loop, ProgressBoard& board, OnDying on_dying)
    : loop_(loop), board_(board), on_dying_(std::move(on_dying)) {}

DeathWatch::~DeathWatch() {
  stopping_ = true;
  for (const auto& [rank, watch] : watches_) uv_thread_join(&watch->thread);
}

void DeathWatch::start(int rank) {
  ProgressPage& page = board_.page(rank);
  if (page.attached.load(std::memory_order_acquire) == 0) return;
  auto watch = std::make_shared<Watch>(*this, rank, page.alive);
  uv_thread_options_t options{};
  options.flags = UV_THREAD_HAS_STACK_SIZE;
  options.stack_size = kStackBytes;
  if (uv_thread_create_ex(&watch->thread, &options, &wait, watch.get()) != 0) return;
  watches_[rank] = std::move(watch);
}

void DeathWatch::forget(int rank) {
  const auto found = watches_.find(rank);
  if (found == watches_.end()) return;
  uv_thread_join(&found->second->thread);
  watches_.erase(found);
}

void DeathWatch::wait(void* argument) {
  const Watch& watch = *static_cast<Watch*>(argument);
  int status = ETIMEDOUT;
  while (status == ETIMEDOUT && !watch.owner.stopping_) status = lock_for(watch.alive, kLookUpS);
  if (status == EOWNERDEAD) {
    watch.owner.tell(watch);
    pthread_mutex_consistent(&watch.alive);
  }
  if (status == EOWNERDEAD || status == 0) pthread_mutex_unlock(&watch.alive);
}

// The task may run when this object is gone, or the watch. The thread's own watch lives until the
// thread has ended.
void DeathWatch::tell(const Watch& watch) {
  loop_.post([known = watch.weak_from_this()] {
    if (const auto found = known.lock()) found->owner.on_dying_(found->rank);
  });
}

}  // namespace rtrain
