// host/engine/distributed/shm/segment.h: the shared memory of a group's ranks on one node.
//
// Each rank has counters, slots for its data, a ring of bytes to each other rank, and an arena for
// tensors that the others read in place. One rank creates it, the others open it.
//
// Counters only increase, and wrap around. A rank that waits for a counter first spins, if every
// rank has a core, and then sleeps in the kernel; it notices another rank's death within
// milliseconds. Any thread, once the segment is sealed.
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
#include "host/engine/distributed/shm/memory_file.h"

namespace rtrain::engine {

struct ShmCounter {
  alignas(64) std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> waiters{0};
};

// Bytes that one rank has written for another one, and bytes that the other has read.
struct ShmRing {
  ShmCounter written, read;
};

// Wide, because each part of the layout has an accessor.
class ShmSegment {
 public:
  static constexpr size_t kSlots = 4;
  static constexpr size_t kSlotBytes = size_t{256} << 10;
  static constexpr size_t kRingBytes = size_t{1024} << 10;

  // How other ranks find the segment.
  struct Address {
    MemoryFile::Address file;
    std::string token;

    std::string to_text() const;
    // Throws Error(kEnvironment) for any other text.
    static Address parse(const std::string& text);
  };

  // Throws Error(kEnvironment).
  static ShmSegment create(int rank, int num_ranks);
  // Throws Error(kEnvironment) if this process cannot see the creator, for example from another
  // container.
  static ShmSegment open(const Address& address, int rank, int num_ranks);

  Address address() const;
  // Call it once all ranks have opened the segment. From then on waits notice ranks that die. Error
  // messages call each rank by its entry in `names`, or by its number if that is empty.
  void seal(std::vector<int> names = {});

  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }
  int name(int rank) const { return names_.empty() ? rank : names_[static_cast<size_t>(rank)]; }

  // How many steps of collectives (collectives.h) a rank has filled, reduced and taken.
  ShmCounter& filled(int rank) { return control(rank).filled; }
  ShmCounter& reduced(int rank) { return control(rank).reduced; }
  ShmCounter& taken(int rank) { return control(rank).taken; }
  // The rank's slot for a step, kSlotBytes.
  std::byte* slot(int rank, uint32_t step);
  // The offset of the rank's tensor in its arena, for a step.
  uint64_t& place(int rank, uint32_t step) { return control(rank).places[step % kSlots]; }

  ShmRing& ring(int from, int to);
  // The ring's kRingBytes bytes.
  std::byte* ring_bytes(int from, int to);
  // Increases after every change of one of the rank's rings.
  ShmCounter& bell(int rank) { return control(rank).bell; }

  std::byte* arena(int rank);
  // The memory at `place` in a rank's arena. Throws damaged() if the range is outside the arena.
  std::byte* in_arena(int rank, uint64_t place, size_t bytes);
  // The error for an impossible counter, place or size of that rank: some process has overwritten
  // it.
  Error damaged(int rank, std::string_view what) const;
  size_t arena_bytes() const { return arena_bytes_; }
  // Returns the pages of this range of this rank's arena to the kernel.
  void give_back(size_t offset, size_t bytes);

  // Sets a counter of this rank.
  static void advance(ShmCounter& counter, uint32_t value);
  // Adds one to a counter of any rank.
  static void increment(ShmCounter& counter);
  // Waits until the rank's counter reaches the value. Throws Error(kPeerLost) if any rank has died
  // (naming it) or this rank has left, and Error(kTimeout) at the deadline.
  void wait(int rank, const ShmCounter& counter, uint32_t value,
            std::chrono::steady_clock::time_point deadline);
  // This rank takes part in no further operation.
  void leave();
  bool has_left(int rank) { return control(rank).has_left.load() != 0; }

 private:
  struct Control {
    ShmCounter filled, reduced, taken, bell;
    alignas(64) uint64_t places[kSlots];
    std::atomic<uint32_t> has_left{0};
    std::atomic<int32_t> pid{0};
    uint64_t cores[16];  // bit mask of the cores that it may run on
  };
  struct Header;

  ShmSegment(MemoryFile file, int rank, int num_ranks);
  Header& header() { return *reinterpret_cast<Header*>(file_.data()); }
  Control& control(int rank);
  static size_t bytes_before_rings(size_t ranks);
  static size_t bytes_before_arenas(size_t ranks);
  void enter();
  bool has_core_for_each();
  bool has_ended(int rank);
  std::optional<Error> find_loss(int waited_for);

  MemoryFile file_;
  std::string token_;
  int rank_;
  int num_ranks_;
  size_t arena_bytes_;
  std::vector<Fd> processes_;  // pidfds by rank; closed for this rank
  std::vector<int> names_;
  bool may_spin_ = false;
};

}  // namespace rtrain::engine
