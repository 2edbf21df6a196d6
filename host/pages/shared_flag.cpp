#include "host/pages/shared_flag.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace rtrain::pages {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void SharedFlag::clear() {
  word_.store(0, std::memory_order_release);
  syscall(SYS_futex, &word_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedFlag::wait_while_set(std::chrono::milliseconds timeout) const {
  const timespec most{static_cast<time_t>(timeout.count() / 1000),
                      static_cast<long>(timeout.count() % 1000) * 1'000'000};
  syscall(SYS_futex, &word_, FUTEX_WAIT, 1, &most, nullptr, 0);
}

}  // namespace rtrain::pages
