#include "host/node/workers/death_watch.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <ctime>
#include <utility>

namespace rtrain::node {
namespace {

constexpr timespec kLookUp{.tv_sec = 1, .tv_nsec = 0};
// Address space of the stack: a thread that only sleeps touches two pages.
constexpr size_t kStackBytes = size_t{256} << 10;

uint32_t* word_of(pthread_mutex_t& mutex) {
  static_assert(sizeof(mutex.__data.__lock) == sizeof(uint32_t));
  return reinterpret_cast<uint32_t*>(&mutex.__data.__lock);
}

enum class Owner { kLives, kDied, kLeft };

// Waits briefly for a change of the mutex. Only uses its futex word, which the kernel shares with
// the owner (robust futexes, set_robust_list(2)): the C library's functions would follow pointers
// that a worker may have overwritten.
Owner look_at(pthread_mutex_t& mutex) {
  uint32_t* const word = word_of(mutex);
  uint32_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  if ((seen & FUTEX_OWNER_DIED) != 0) return Owner::kDied;
  if ((seen & FUTEX_TID_MASK) == 0) return Owner::kLeft;
  // With this bit set, the kernel wakes the waiters, as does an owner that unlocks in order.
  const uint32_t awaited = seen | FUTEX_WAITERS;
  if (seen == awaited || __atomic_compare_exchange_n(word, &seen, awaited, false, __ATOMIC_ACQ_REL,
                                                     __ATOMIC_ACQUIRE)) {
    syscall(SYS_futex, word, FUTEX_WAIT, awaited, &kLookUp, nullptr, 0);
  }
  return Owner::kLives;
}

}  // namespace

DeathWatch::DeathWatch(loop::Loop& loop, pages::ProgressBoard& board, OnDying on_dying)
    : loop_(loop), board_(board), on_dying_(std::move(on_dying)) {}

DeathWatch::~DeathWatch() {
  for (const auto& [rank, watch] : watches_) watch->wake();
  for (const auto& [rank, watch] : watches_) uv_thread_join(&watch->thread);
}

void DeathWatch::start(int rank) {
  pages::ProgressPage& page = board_.page(rank);
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
  found->second->wake();
  uv_thread_join(&found->second->thread);
  watches_.erase(found);
}

// Ends the thread's wait, whatever the word contains.
void DeathWatch::Watch::wake() {
  is_over = true;
  syscall(SYS_futex, word_of(alive), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void DeathWatch::wait(void* argument) {
  const Watch& watch = *static_cast<Watch*>(argument);
  Owner owner = Owner::kLives;
  while (owner == Owner::kLives && !watch.is_over) owner = look_at(watch.alive);
  if (owner == Owner::kDied) watch.owner.tell(watch);
}

// When the task runs, this object or the watch may no longer exist. The thread's own watch lives
// until the thread has ended.
void DeathWatch::tell(const Watch& watch) {
  loop_.post([known = watch.weak_from_this()] {
    if (const auto found = known.lock()) found->owner.on_dying_(found->rank);
  });
}

}  // namespace rtrain::node
