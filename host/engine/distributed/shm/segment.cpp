#include "host/engine/distributed/shm/segment.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text/text.h"

namespace rtrain::engine {

using Clock = std::chrono::steady_clock;

struct ShmSegment::Header {
  static constexpr uint32_t kVersion = 2;
  uint32_t version;
  uint32_t num_ranks;
  char token[40];
};

namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kArenaBytes = size_t{16} << 30;
constexpr size_t kFewArenaBytes = size_t{256} << 20;  // if the address space is limited
constexpr std::chrono::milliseconds kLook{20};
constexpr std::chrono::microseconds kSpin{200};
constexpr int kLooksAClock = 32;  // reads of a counter for each read of the clock

constexpr size_t whole_pages(size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Without FUTEX_PRIVATE_FLAG, because the ranks are different processes.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds limit) {
  const timespec time{.tv_sec = limit.count() / 1'000'000'000,
                      .tv_nsec = limit.count() % 1'000'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

void futex_wake(const std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

bool has_reached(uint32_t value, uint32_t wanted) {
  return static_cast<int32_t>(value - wanted) >= 0;
}

}  // namespace

std::string ShmSegment::Address::to_text() const { return cat(file.pid, " ", file.fd, " ", token); }

ShmSegment::Address ShmSegment::Address::parse(const std::string& text) {
  Address out;
  char token[40] = {};
  if (std::sscanf(text.c_str(), "%" SCNd64 " %" SCNd64 " %39s", &out.file.pid, &out.file.fd,
                  token) != 3) {
    throw Error(Code::kEnvironment, cat("shared memory: '", text, "' is not an address"));
  }
  out.token = token;
  return out;
}

ShmSegment::ShmSegment(MemoryFile file, int rank, int num_ranks)
    : file_(std::move(file)),
      rank_(rank),
      num_ranks_(num_ranks),
      arena_bytes_((file_.size() - bytes_before_arenas(static_cast<size_t>(num_ranks))) /
                   static_cast<size_t>(num_ranks)) {}

size_t ShmSegment::bytes_before_rings(size_t ranks) {
  return kPageBytes + ranks * (whole_pages(sizeof(Control)) + kSlots * kSlotBytes);
}

size_t ShmSegment::bytes_before_arenas(size_t ranks) {
  const size_t rings = ranks * ranks;
  return bytes_before_rings(ranks) + whole_pages(rings * sizeof(ShmRing)) + rings * kRingBytes;
}

ShmSegment ShmSegment::create(int rank, int num_ranks) {
  const auto ranks = static_cast<size_t>(num_ranks);
  const auto make_file = [&](size_t arena) {
    return MemoryFile::create("rtrain-group", bytes_before_arenas(ranks) + ranks * arena);
  };
  std::optional<MemoryFile> file;
  try {
    file.emplace(make_file(kArenaBytes));
  } catch (const Error&) {
    file.emplace(make_file(kFewArenaBytes));
  }
  ShmSegment out(std::move(*file), rank, num_ranks);
  out.token_ = random_hex(32);
  auto* header = new (out.file_.data()) Header{
      .version = Header::kVersion, .num_ranks = static_cast<uint32_t>(num_ranks), .token = {}};
  std::memcpy(header->token, out.token_.c_str(), out.token_.size() + 1);
  for (int each = 0; each < num_ranks; ++each) {
    new (&out.control(each)) Control{};
    for (int other = 0; other < num_ranks; ++other) new (&out.ring(each, other)) ShmRing{};
  }
  out.enter();
  return out;
}

ShmSegment ShmSegment::open(const Address& address, int rank, int num_ranks) {
  std::optional<MemoryFile> file = MemoryFile::try_open(address.file);
  const auto ranks = static_cast<size_t>(num_ranks);
  if (!file) throw MemoryFile::mistaken(address.file, "not to be seen by this process");
  if (file->size() <= bytes_before_arenas(ranks)) {
    throw MemoryFile::mistaken(address.file, "something else");
  }
  ShmSegment out(std::move(*file), rank, num_ranks);
  const Header& header = out.header();
  if (header.version != Header::kVersion || header.num_ranks != ranks ||
      address.token !=
          std::string_view(header.token, ::strnlen(header.token, sizeof(header.token)))) {
    throw MemoryFile::mistaken(address.file, "another group's");
  }
  out.enter();
  return out;
}

ShmSegment::Address ShmSegment::address() const {
  return {.file = file_.address(), .token = token_};
}

ShmSegment::Control& ShmSegment::control(int rank) {
  const size_t offset = kPageBytes + static_cast<size_t>(rank) * whole_pages(sizeof(Control));
  return *reinterpret_cast<Control*>(file_.data() + offset);
}

std::byte* ShmSegment::slot(int rank, uint32_t step) {
  const auto ranks = static_cast<size_t>(num_ranks_);
  const size_t number = static_cast<size_t>(rank) * kSlots + step % kSlots;
  return file_.data() + kPageBytes + ranks * whole_pages(sizeof(Control)) + number * kSlotBytes;
}

ShmRing& ShmSegment::ring(int from, int to) {
  auto* rings = reinterpret_cast<ShmRing*>(file_.data() +
                                           bytes_before_rings(static_cast<size_t>(num_ranks_)));
  return rings[static_cast<size_t>(from) * static_cast<size_t>(num_ranks_) +
               static_cast<size_t>(to)];
}

std::byte* ShmSegment::ring_bytes(int from, int to) {
  const auto ranks = static_cast<size_t>(num_ranks_);
  const size_t number = static_cast<size_t>(from) * ranks + static_cast<size_t>(to);
  return file_.data() + bytes_before_arenas(ranks) - (ranks * ranks - number) * kRingBytes;
}

std::byte* ShmSegment::arena(int rank) {
  return file_.data() + file_.size() - static_cast<size_t>(num_ranks_ - rank) * arena_bytes_;
}

std::byte* ShmSegment::in_arena(int rank, uint64_t place, size_t bytes) {
  if (bytes > arena_bytes_ || place > arena_bytes_ - bytes) throw damaged(rank, "place");
  return arena(rank) + place;
}

Error ShmSegment::damaged(int rank, std::string_view what) const {
  return Error(Code::kEnvironment,
               cat("shared memory: rank ", name(rank), " shows a ", what,
                   " that it cannot have written: a process has written over the memory that the "
                   "ranks share"));
}

void ShmSegment::give_back(size_t offset, size_t bytes) {
  file_.give_back(static_cast<size_t>(arena(rank_) - file_.data()) + offset, bytes);
}

void ShmSegment::enter() {
  Control& mine = control(rank_);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  static_assert(sizeof(cores) == sizeof(mine.cores));
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    std::memcpy(mine.cores, &cores, sizeof(cores));
  }
  mine.pid = ::getpid();
}

void ShmSegment::seal(std::vector<int> names) {
  names_ = std::move(names);
  may_spin_ = has_core_for_each();
  for (int each = 0; each < num_ranks_; ++each) {
    // Kernels before 5.3 have no pidfd_open.
    const long process =
        each == rank_ ? -1 : ::syscall(SYS_pidfd_open, control(each).pid.load(), 0);
    processes_.emplace_back(static_cast<int>(process));
  }
}

bool ShmSegment::has_ended(int rank) {
  const Fd& process = processes_[static_cast<size_t>(rank)];
  if (!process.is_open()) return ::kill(control(rank).pid.load(), 0) != 0 && errno == ESRCH;
  pollfd poll{.fd = process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&poll, 1, 0) > 0;
}

// Without a core for each rank, a rank that spins would keep another one from running.
bool ShmSegment::has_core_for_each() {
  int count = 0;
  for (size_t word = 0; word < std::size(control(0).cores); ++word) {
    uint64_t any = 0;
    for (int each = 0; each < num_ranks_; ++each) any |= control(each).cores[word];
    count += std::popcount(any);
  }
  return count >= num_ranks_;
}

void ShmSegment::advance(ShmCounter& counter, uint32_t value) {
  counter.value.store(value, std::memory_order_seq_cst);
  if (counter.waiters.load(std::memory_order_seq_cst) != 0) futex_wake(counter.value);
}

void ShmSegment::increment(ShmCounter& counter) {
  counter.value.fetch_add(1, std::memory_order_seq_cst);
  if (counter.waiters.load(std::memory_order_seq_cst) != 0) futex_wake(counter.value);
}

void ShmSegment::wait(int rank, const ShmCounter& counter, uint32_t value,
                      Clock::time_point deadline) {
  if (has_reached(counter.value.load(std::memory_order_acquire), value)) return;
  const auto end = Clock::now() + (may_spin_ ? kSpin : std::chrono::microseconds(0));
  do {
    for (int i = 0; i < kLooksAClock; ++i) {
      if (has_reached(counter.value.load(std::memory_order_acquire), value)) return;
      pause();
    }
  } while (Clock::now() < end);
  auto& shared = const_cast<ShmCounter&>(counter);
  while (true) {
    shared.waiters.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t seen = shared.value.load(std::memory_order_seq_cst);
    if (!has_reached(seen, value)) futex_wait(shared.value, seen, kLook);
    shared.waiters.fetch_sub(1, std::memory_order_seq_cst);
    const std::optional<Error> loss = find_loss(rank);
    // The rank may have reached the value before it ended, so the counter is read again.
    if (has_reached(shared.value.load(std::memory_order_acquire), value)) return;
    if (loss) throw Error(*loss);
    if (Clock::now() < deadline) continue;
    throw Error(Code::kTimeout, cat("rank ", name(rank), " did not come"));
  }
}

// The reason why the other rank will not arrive any more, if there is one.
std::optional<Error> ShmSegment::find_loss(int waited_for) {
  if (has_left(rank_)) {
    return Error(Code::kPeerLost, "this rank has closed the group");
  }
  if (has_left(waited_for)) {
    return Error(Code::kPeerLost, cat("rank ", name(waited_for), " has closed the group"));
  }
  if (processes_.empty()) return std::nullopt;
  for (int each = 0; each < num_ranks_; ++each) {
    if (each == rank_ || has_left(each) || !has_ended(each)) continue;
    return Error(Code::kPeerLost, cat("rank ", name(each), " has ended"));
  }
  return std::nullopt;
}

void ShmSegment::leave() {
  Control& mine = control(rank_);
  mine.has_left.store(1, std::memory_order_seq_cst);
  for (ShmCounter* counter : {&mine.filled, &mine.reduced, &mine.taken}) {
    futex_wake(counter->value);
  }
  for (int each = 0; each < num_ranks_; ++each) futex_wake(bell(each).value);
}

}  // namespace rtrain::engine
