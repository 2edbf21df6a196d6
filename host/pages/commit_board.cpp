#include "host/pages/commit_board.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <new>

#include "host/base/text/text.h"

namespace rtrain::pages {
namespace {

constexpr uint32_t kVersion = 3;
constexpr size_t kHeaderBytes = 4096;
// The distance of two places in the file. Pages of the file that are never written use no memory.
constexpr int64_t kPlaceBytes = int64_t{1} << 32;
constexpr int kPlaces = 6;  // three parts, each twice
constexpr std::chrono::microseconds kSpin{50};
constexpr std::chrono::milliseconds kLook{20};

Error failed(std::string_view what) {
  return Error(Code::kEnvironment, cat("cannot ", what, " the memory for committed steps: ",
                                       std::string_view(std::strerror(errno))));
}

void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen) {
  const timespec limit{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kLook).count()};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

int place_number(CommitBoard::Part part, uint64_t step) {
  return 2 * static_cast<int>(part) + static_cast<int>(step % 2);
}

}  // namespace

struct CommitBoard::Header {
  // What a process reads before it knows the size of the memory.
  struct Extent {
    uint32_t version = kVersion;
    uint32_t first_rank = 0;
    uint32_t end_rank = 0;
  };

  Extent extent;
  alignas(64) std::atomic<uint32_t> bell{0};  // a futex; rises with each change of a rank
  std::atomic<uint32_t> waiters{0};
  std::atomic<uint64_t> others_ready{0};
  std::atomic<uint32_t> others_lost{0};
};

struct CommitBoard::Place {
  std::atomic<uint64_t> step{0};  // 0: it is being written, or was never written
  uint64_t bytes = 0;
};

struct CommitBoard::Rank {
  alignas(64) std::atomic<uint64_t> ready{0};
  std::atomic<uint32_t> is_absent{0};
  Place places[kPlaces];
};

CommitBoard::CommitBoard(int end_rank, int first_rank)
    : owns_fd_(true), first_rank_(first_rank), end_rank_(end_rank) {
  fd_ = ::memfd_create("rtrain-commits", MFD_CLOEXEC);
  if (fd_ < 0) throw failed("create");
  size_bytes_ = kHeaderBytes + static_cast<size_t>(end_rank) * sizeof(Rank);
  try {
    if (::ftruncate(fd_, static_cast<off_t>(size_bytes_)) != 0) throw failed("create");
    map();
  } catch (const Error&) {
    ::close(fd_);
    throw;
  }
  new (memory_) Header{.extent = {.first_rank = static_cast<uint32_t>(first_rank),
                                  .end_rank = static_cast<uint32_t>(end_rank)}};
  for (int each = 0; each < end_rank; ++each) new (&rank(each)) Rank;
}

CommitBoard::CommitBoard(Inherited inherited) : fd_(inherited.fd) {
  Header::Extent found;
  struct stat info {};
  if (::fstat(fd_, &info) != 0 || static_cast<size_t>(info.st_size) < kHeaderBytes ||
      ::pread(fd_, &found, sizeof(found), 0) != sizeof(found) || found.version != kVersion) {
    throw Error(Code::kInternal, "no memory for committed steps was passed");
  }
  size_bytes_ = kHeaderBytes + size_t{found.end_rank} * sizeof(Rank);
  if (found.end_rank > INT_MAX || found.first_rank > found.end_rank ||
      static_cast<size_t>(info.st_size) < size_bytes_) {
    throw Error(Code::kInternal, "the memory for committed steps is damaged");
  }
  first_rank_ = static_cast<int>(found.first_rank);
  end_rank_ = static_cast<int>(found.end_rank);
  map();
}

CommitBoard::~CommitBoard() {
  ::munmap(memory_, size_bytes_);
  if (owns_fd_) ::close(fd_);
}

void CommitBoard::map() {
  void* memory = ::mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) throw failed("map");
  memory_ = static_cast<std::byte*>(memory);
  // Where there are fewer cores than ranks, a rank that spins would keep another one from running.
  may_spin_ = ::sysconf(_SC_NPROCESSORS_ONLN) >= end_rank_ - first_rank_;
}

CommitBoard::Header& CommitBoard::header() const {
  return *std::launder(reinterpret_cast<Header*>(memory_));
}

CommitBoard::Rank& CommitBoard::rank(int number) const {
  RT_CHECK(number >= 0 && number < end_rank_);
  return *std::launder(
      reinterpret_cast<Rank*>(memory_ + kHeaderBytes + static_cast<size_t>(number) * sizeof(Rank)));
}

CommitBoard::Place& CommitBoard::place(int number, Part part, uint64_t step) const {
  return rank(number).places[place_number(part, step)];
}

// A place's offset in the file, after the mapped pages.
int64_t CommitBoard::offset(int number, Part part, uint64_t step) const {
  return kPlaceBytes * (1 + int64_t{number} * kPlaces + place_number(part, step));
}

void CommitBoard::write(int number, Part part, uint64_t step, std::string_view bytes) {
  const int64_t begin = offset(number, part, step);
  Place& place = this->place(number, part, step);
  if (bytes.size() > static_cast<size_t>(kPlaceBytes)) {
    throw Error(Code::kEnvironment, cat("the state that a rank has for itself has ", bytes.size(),
                                        " bytes, the limit is ", kPlaceBytes));
  }
  place.step.store(0, std::memory_order_release);
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        ::pwrite(fd_, bytes.data() + done, bytes.size() - done, begin + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw failed("write");
    done += static_cast<size_t>(n);
  }
  place.bytes = bytes.size();
  place.step.store(step, std::memory_order_release);
}

std::optional<std::string> CommitBoard::read(int number, Part part, uint64_t step) const {
  const int64_t begin = offset(number, part, step);
  const Place& place = this->place(number, part, step);
  if (step == 0 || place.step.load(std::memory_order_acquire) != step) return std::nullopt;
  // A dead rank may have left any value there, so only bytes that are in the file count.
  const uint64_t bytes = std::min(place.bytes, static_cast<uint64_t>(kPlaceBytes));
  if (bytes > 0 && ::lseek(fd_, begin, SEEK_HOLE) < begin + static_cast<int64_t>(bytes)) {
    return std::nullopt;
  }
  std::string out(bytes, '\0');
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd_, out.data() + done, out.size() - done, begin + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    done += static_cast<size_t>(n);
  }
  return out;
}

void CommitBoard::wake() {
  Header& shared = header();
  shared.bell.fetch_add(1, std::memory_order_seq_cst);
  if (shared.waiters.load(std::memory_order_seq_cst) == 0) return;
  ::syscall(SYS_futex, &shared.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void CommitBoard::set_ready(int number, uint64_t step) {
  rank(number).ready.store(step, std::memory_order_seq_cst);
  wake();
}

void CommitBoard::set_absent(int number, bool is_absent) {
  rank(number).is_absent.store(is_absent ? 1 : 0, std::memory_order_seq_cst);
  wake();
}

void CommitBoard::leave_out(int number) { set_ready(number, UINT64_MAX); }

bool CommitBoard::is_ready(int number, uint64_t step) const {
  return rank(number).ready.load(std::memory_order_seq_cst) >= step;
}

std::optional<int> CommitBoard::first_late(uint64_t step) const {
  for (int each = first_rank_; each < end_rank_; ++each) {
    if (!is_ready(each, step)) return each;
  }
  return std::nullopt;
}

// A rank may become ready and then absent: so `ready` is read after `is_absent`.
std::optional<int> CommitBoard::first_lost(uint64_t step) const {
  for (int each = first_rank_; each < end_rank_; ++each) {
    const bool is_absent = rank(each).is_absent.load(std::memory_order_seq_cst) != 0;
    if (is_absent && !is_ready(each, step)) return each;
  }
  return std::nullopt;
}

void CommitBoard::set_others_ready(uint64_t step) {
  header().others_ready.store(step, std::memory_order_seq_cst);
  wake();
}

void CommitBoard::set_others_lost(bool are_lost) {
  if (!are_lost) header().others_ready.store(0, std::memory_order_seq_cst);
  header().others_lost.store(are_lost ? 1 : 0, std::memory_order_seq_cst);
  wake();
}

bool CommitBoard::are_others_late(uint64_t step, Scope scope) const {
  return scope == Scope::kAllHosts && header().others_ready.load(std::memory_order_seq_cst) < step;
}

// They may become ready before one of them is lost: so `others_ready` is read second.
bool CommitBoard::are_others_lost(uint64_t step, Scope scope) const {
  return header().others_lost.load(std::memory_order_seq_cst) != 0 && are_others_late(step, scope);
}

void CommitBoard::check_not_lost(uint64_t step, Scope scope) const {
  if (const auto rank = first_lost(step)) {
    throw Error(Code::kPeerLost, cat("rank ", *rank, " does not come to step ", step));
  }
  if (!are_others_lost(step, scope)) return;
  throw Error(Code::kPeerLost, cat("a rank of another node does not come to step ", step));
}

void CommitBoard::wait(uint64_t step, std::chrono::steady_clock::time_point deadline, Scope scope) {
  using Clock = std::chrono::steady_clock;
  const auto is_late = [&] { return first_late(step) || are_others_late(step, scope); };
  const auto spin_end = Clock::now() + (may_spin_ ? kSpin : std::chrono::microseconds(0));
  do {
    if (!is_late()) return;
  } while (Clock::now() < spin_end);
  Header& shared = header();
  while (is_late()) {
    check_not_lost(step, scope);
    if (Clock::now() >= deadline) {
      const std::optional<int> late = first_late(step);
      throw Error(Code::kTimeout, cat(late ? cat("rank ", *late) : "a rank of another node",
                                      " did not come to step ", step));
    }
    shared.waiters.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t seen = shared.bell.load(std::memory_order_seq_cst);
    const bool goes_on = is_late() && !first_lost(step) && !are_others_lost(step, scope);
    if (goes_on) futex_wait(shared.bell, seen);
    shared.waiters.fetch_sub(1, std::memory_order_seq_cst);
  }
}

}  // namespace rtrain::pages
