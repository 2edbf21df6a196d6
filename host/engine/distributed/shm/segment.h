// host/engine/distributed/shm/segment.h: the memory that the ranks of a group on one host share.
//
// Each rank has counters, slots through which its data go to the others, a ring of bytes to each
// other rank, and an arena for tensors that the others read where they lie. It is a memory file
// without a name: one rank makes it, the others open it through /proc, and it is gone with the last
// of them, however they end. Pages that no rank touches cost nothing.
//
// Counters only grow, and wrap. A rank that waits for another one's counter spins for a moment
// where every rank has a core, and sleeps in the kernel then; it notices the death of a rank within
// some milliseconds. Any thread, once it is sealed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.h"
#include "host/base/files/fd.h"

namespace rtrain {

struct ShmCounter {
  alignas(64) std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> waiters{0};
};

// What one rank has written to another one, and what that one has read of it, in bytes.
struct ShmRing {
  ShmCounter written, read;
};

class ShmSegment {
 public:
  static constexpr size_t kSlots = 4;
  static constexpr size_t kSlotBytes = size_t{256} << 10;
  static constexpr size_t kRingBytes = size_t{256} << 10;

  // Where the others find it.
  struct Address {
    int pid = 0;
    int fd = -1;
    std::string token;

    std::string to_text() const;
    // Throws Error(kEnvironment) for a text of something else.
    static Address parse(const std::string& text);
  };

  // Throws Error(kEnvironment).
  static ShmSegment create(int rank, int num_ranks);
  // Throws Error(kEnvironment) where this process does not see that one, as in a container of its
  // own.
  static ShmSegment open(const Address& address, int rank, int num_ranks);
  ShmSegment(ShmSegment&& other) noexcept;
  ShmSegment& operator=(ShmSegment&&) = delete;
  ~ShmSegment();

  Address address() const;
  // All have opened it. From now on the deaths of ranks are noticed. Errors call the ranks by these
  // names, by rank; by their numbers where there are none.
  void seal(std::vector<int> names = {});

  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  int name(int rank) const { return names_.empty() ? rank : names_[static_cast<size_t>(rank)]; }

  // What a rank has done of the collectives' steps (collectives.h).
  ShmCounter& filled(int rank) { return control(rank).filled; }
  ShmCounter& reduced(int rank) { return control(rank).reduced; }
  ShmCounter& taken(int rank) { return control(rank).taken; }
  // Of a step: kSlotBytes of that rank.
  std::byte* slot(int rank, uint32_t step);
  // Of a step: where in its arena the rank's tensor lies.
  uint64_t& place(int rank, uint32_t step) { return control(rank).places[step % kSlots]; }

  ShmRing& ring(int from, int to);
  // kRingBytes.
  std::byte* ring_bytes(int from, int to);
  // Rises after every change of one of the rank's rings.
  ShmCounter& bell(int rank) { return control(rank).bell; }

  std::byte* arena(int rank);
  // Where a rank says that its tensor lies. Throws what damaged() is where it cannot lie there.
  std::byte* in_arena(int rank, uint64_t place, size_t bytes);
  // A counter, place or size of that rank, which cannot be one: a process has written over it.
  Error damaged(int rank, std::string_view what) const;
  size_t arena_bytes() const { return arena_bytes_; }
  // Gives the pages of this part of this rank's arena back.
  void give_back(size_t offset, size_t bytes);

  // Of this rank.
  static void advance(ShmCounter& counter, uint32_t value);
  // Of any rank, by one.
  static void increment(ShmCounter& counter);
  // Until the rank's counter is there. Throws Error(kPeerLost) naming a rank that has died, or that
  // one once it has left; Error(kTimeout) at the deadline.
  void wait(int rank, const ShmCounter& counter, uint32_t value,
            std::chrono::steady_clock::time_point deadline);
  // This rank takes part in nothing further.
  void leave();
  bool has_left(int rank) { return control(rank).has_left.load() != 0; }

 private:
  struct Control {
    ShmCounter filled, reduced, taken, bell;
    alignas(64) uint64_t places[kSlots];
    std::atomic<uint32_t> has_left{0};
    std::atomic<int32_t> pid{0};
    uint64_t cores[16];  // that it may run on, a bit each
  };
  struct Header;

  ShmSegment(Fd fd, int rank, int num_ranks);
  Header& header() { return *reinterpret_cast<Header*>(memory_); }
  Control& control(int rank);
  static size_t bytes_before_rings(size_t ranks);
  static size_t bytes_before_arenas(size_t ranks);
  void map();
  void enter();
  bool has_core_for_each();
  bool has_ended(int rank);
  std::optional<Error> find_loss(int waited_for);

  Fd fd_;
  std::string token_;
  int rank_;
  int num_ranks_;
  size_t arena_bytes_ = 0;
  size_t size_bytes_ = 0;
  std::byte* memory_ = nullptr;
  std::vector<Fd> processes_;  // of the ranks; closed for this one
  std::vector<int> names_;
  bool may_spin_ = false;
};

}  // namespace rtrain
