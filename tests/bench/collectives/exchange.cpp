// tests/bench/collectives/exchange.cpp: the memory's share of an all_reduce whose tensors lie in
// each rank's own memory.
//
//   collectives_exchange RANKS
//
// Each rank adds up a part of the numbers. So every byte of a part passes from core to core twice:
// from each rank to the one that adds it up, and as a sum to each rank. Here ranks copy exactly
// these bytes through shared memory, add nothing up, and agree on nothing but where the other is.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/bench/collectives/timing.h"

namespace {

constexpr size_t kMostBytes = size_t{26} << 20;
constexpr int kTurnsBeforeYield = 10000;

struct Shared {
  alignas(64) std::atomic<uint32_t> arrived{0};
};

class Rank {
 public:
  Rank(std::byte* memory, int rank, int ranks)
      : shared_(*reinterpret_cast<Shared*>(memory)),
        slots_(memory + 4096),
        rank_(static_cast<size_t>(rank)),
        ranks_(static_cast<size_t>(ranks)),
        data_(kMostBytes) {}

  void barrier() {
    reached_ += static_cast<uint32_t>(ranks_);
    shared_.arrived.fetch_add(1);
    int turns = 0;
    while (static_cast<int32_t>(shared_.arrived.load() - reached_) < 0) {
      if (++turns % kTurnsBeforeYield == 0) sched_yield();
    }
  }

  void exchange(size_t bytes) {
    const size_t part = bytes / ranks_;
    for (size_t to = 0; to < ranks_; ++to) {
      if (to != rank_) std::memcpy(slot(rank_) + to * part, data_.data() + to * part, part);
    }
    barrier();
    for (size_t from = 0; from < ranks_; ++from) {
      const std::byte* const numbers = slot(from) + rank_ * part;
      if (from != rank_) std::memcpy(data_.data() + rank_ * part, numbers, part);
    }
    std::memcpy(slot(rank_) + rank_ * part, data_.data() + rank_ * part, part);
    barrier();
    for (size_t from = 0; from < ranks_; ++from) {
      if (from != rank_) std::memcpy(data_.data() + from * part, slot(from) + from * part, part);
    }
    barrier();
  }

 private:
  std::byte* slot(size_t rank) { return slots_ + rank * kMostBytes; }

  Shared& shared_;
  std::byte* const slots_;
  const size_t rank_, ranks_;
  std::vector<std::byte> data_;
  uint32_t reached_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int ranks = std::atoi(argv[1]);
  const size_t bytes = 4096 + static_cast<size_t>(ranks) * kMostBytes;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  for (int rank = 1; rank <= ranks; ++rank) {
    if (fork() != 0) continue;
    Rank self(static_cast<std::byte*>(memory), rank - 1, ranks);
    for (const rtrain::CollectiveSize& size : rtrain::kCollectiveSizes) {
      const double seconds = rtrain::median_seconds(
          size.calls, [&] { self.barrier(); },
          [&] { self.exchange(static_cast<size_t>(size.bytes)); });
      if (rank == 1) std::printf("%s %.9f\n", size.name, seconds);
    }
    std::fflush(nullptr);
    _exit(0);
  }
  int failed = 0;
  for (int status = 0; wait(&status) > 0;) failed |= static_cast<int>(status != 0);
  return failed;
}
