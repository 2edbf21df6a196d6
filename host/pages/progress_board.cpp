#include "host/pages/progress_board.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::pages {
namespace {

[[noreturn]] void fail(std::string_view what) {
  throw Error(Code::kEnvironment, cat(what, ": ", std::string_view(std::strerror(errno))));
}

void init_alive(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

}  // namespace

ProgressBoard::ProgressBoard(int num_ranks) : num_ranks_(num_ranks) {
  fd_ = memfd_create("rtrain-progress", MFD_CLOEXEC);
  if (fd_ < 0) fail("cannot create the workers' progress pages");
  const size_t size = size_of(static_cast<size_t>(num_ranks));
  if (ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    close(fd_);
    fail("cannot create the workers' progress pages");
  }
  map(fd_, size);
  new (memory_) Header{kProgressVersion, static_cast<uint32_t>(num_ranks), sizeof(ProgressPage)};
  numbers_.resize(static_cast<size_t>(num_ranks) + 1);
  for (int rank = 0; rank <= num_ranks; ++rank) {
    set_number(rank, static_cast<uint32_t>(rank));
    init_alive((new (place(rank)) ProgressPage)->alive);
  }
}

ProgressBoard::ProgressBoard(Inherited inherited) {
  struct stat info {};
  if (fstat(inherited.fd, &info) != 0 || static_cast<size_t>(info.st_size) < kHeaderBytes) {
    throw Error(Code::kInternal, "no progress page was passed");
  }
  map(inherited.fd, static_cast<size_t>(info.st_size));
  Header header{};
  std::memcpy(&header, memory_, sizeof(header));
  num_ranks_ = static_cast<int>(header.num_ranks);
  if (header.version != kProgressVersion || header.page_bytes != sizeof(ProgressPage) ||
      size_bytes_ != size_of(header.num_ranks)) {
    munmap(memory_, size_bytes_);
    throw Error(Code::kInternal, "the progress page is of another build of rtrain");
  }
}

ProgressBoard::~ProgressBoard() {
  munmap(memory_, size_bytes_);
  if (fd_ >= 0) close(fd_);
}

void ProgressBoard::map(int fd, size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    if (fd_ >= 0) close(fd_);
    fail("cannot map the progress pages");
  }
  memory_ = static_cast<std::byte*>(memory);
  size_bytes_ = size;
}

ProgressPage& ProgressBoard::page(int rank) {
  RT_CHECK(rank >= 0 && rank <= num_ranks_);
  return *std::launder(reinterpret_cast<ProgressPage*>(place(rank)));
}

// Header, pages, and the number of each rank's page.
size_t ProgressBoard::size_of(size_t num_ranks) {
  return kHeaderBytes + (num_ranks + 1) * (sizeof(ProgressPage) + sizeof(std::atomic<uint32_t>));
}

std::atomic<uint32_t>& ProgressBoard::number(int rank) const {
  const size_t pages = static_cast<size_t>(num_ranks_) + 1;
  std::byte* const numbers = memory_ + kHeaderBytes + pages * sizeof(ProgressPage);
  return reinterpret_cast<std::atomic<uint32_t>*>(numbers)[rank];
}

void ProgressBoard::set_number(int rank, uint32_t value) {
  numbers_.at(static_cast<size_t>(rank)) = value;
  number(rank).store(value, std::memory_order_release);
}

std::byte* ProgressBoard::place(int rank) const {
  const auto own = static_cast<size_t>(rank);
  size_t at = numbers_.empty() ? number(rank).load(std::memory_order_acquire) : numbers_.at(own);
  if (at > static_cast<size_t>(num_ranks_)) at = own;  // another worker has written over it
  return memory_ + kHeaderBytes + at * sizeof(ProgressPage);
}

// Later entries have larger ticks, also than those of the collective that had the place before.
const std::atomic<uint64_t>& ProgressBoard::enter_collective(uint64_t sequence,
                                                             uint64_t ticks) const {
  std::byte* const entries = memory_ + kEntriesAt;
  auto& last = reinterpret_cast<std::atomic<uint64_t>*>(entries)[sequence % kEntries];
  uint64_t known = last.load(std::memory_order_relaxed);
  while (known < ticks && !last.compare_exchange_weak(known, ticks, std::memory_order_relaxed)) {
  }
  return last;
}

void ProgressBoard::take_spare(int rank) {
  const uint32_t old = numbers_.at(static_cast<size_t>(rank));
  set_number(rank, numbers_.at(static_cast<size_t>(spare())));
  set_number(spare(), old);
}

void ProgressBoard::renew(int rank) {
  const double lease_s = page(rank).lease_s.load(std::memory_order_relaxed);
  auto* renewed = new (place(rank)) ProgressPage;
  init_alive(renewed->alive);
  renewed->lease_s.store(lease_s, std::memory_order_relaxed);
}

const ProgressPage& ProgressBoard::page(int rank) const {
  return const_cast<ProgressBoard*>(this)->page(rank);
}

uint64_t ProgressBoard::copied_bytes() const {
  uint64_t sum = 0;
  for (int rank = 0; rank < num_ranks_; ++rank) {
    sum += page(rank).bytes.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace rtrain::pages
