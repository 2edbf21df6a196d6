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
  const size_t size = kHeaderBytes + static_cast<size_t>(num_ranks) * sizeof(ProgressPage);
  if (ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    close(fd_);
    fail("cannot create the workers' progress pages");
  }
  map(fd_, size);
  new (memory_) Header{kProgressVersion, static_cast<uint32_t>(num_ranks), sizeof(ProgressPage)};
  for (int rank = 0; rank < num_ranks; ++rank) init_alive((new (place(rank)) ProgressPage)->alive);
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
      size_bytes_ != kHeaderBytes + header.num_ranks * sizeof(ProgressPage)) {
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
  RT_CHECK(rank >= 0 && rank < num_ranks_);
  return *std::launder(reinterpret_cast<ProgressPage*>(place(rank)));
}

std::byte* ProgressBoard::place(int rank) const {
  return memory_ + kHeaderBytes + static_cast<size_t>(rank) * sizeof(ProgressPage);
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
