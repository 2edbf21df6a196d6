// host/engine/distributed/shm/collectives.h: one rank's part in collectives over shared memory.
//
// Data go through slots in steps. In a step every rank fills its slot, waits for the others', and
// takes what is its own of them; a slot is filled again when all have taken from it, kSlots steps
// later. All ranks call the same collectives in the same order with the same sizes. Sums are made
// in the order of the ranks: the same bits on every rank, in every run.
//
// One thread at a time. Errors are those of ShmSegment::wait, behind which nothing more may be
// called.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/engine/distributed/shm/reduction.h"
#include "host/engine/distributed/shm/segment.h"

namespace rtrain {

class ShmCollectives {
 public:
  ShmCollectives(ShmSegment& segment, std::chrono::milliseconds timeout)
      : segment_(segment), timeout_(timeout), inputs_(static_cast<size_t>(segment.num_ranks())) {}

  using Bytes = std::span<std::byte>;

  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  // In place, elements of the reduction's dtype.
  void all_reduce(Bytes data, const Reduction& reduction);
  // In place, on the root.
  void reduce(Bytes data, const Reduction& reduction, int root);
  // In place.
  void broadcast(Bytes data, int root);
  // `outputs`: by rank, of that rank's size.
  void all_gather(Bytes input, std::span<const Bytes> outputs);
  // The same; `outputs` only on the root, elsewhere empty. All inputs have one size.
  void gather(Bytes input, std::span<const Bytes> outputs, int root);
  // `inputs`: by rank, on the root only, all of the output's size.
  void scatter(std::span<const Bytes> inputs, Bytes output, int root);
  // `inputs`: by rank, all of the output's size.
  void reduce_scatter(std::span<const Bytes> inputs, Bytes output, const Reduction& reduction);
  // To and from each rank; the sizes of two ranks for each other agree.
  void all_to_all(std::span<const Bytes> inputs, std::span<const Bytes> outputs);
  void barrier();

 private:
  using Clock = std::chrono::steady_clock;

  void begin() { deadline_ = Clock::now() + timeout_; }
  void wait_for_slot(uint32_t step);
  void wait_filled(int rank, uint32_t step);
  void wait_all_filled(uint32_t step);
  void wait_reduced(int rank, uint32_t step);
  void set_filled(uint32_t step);
  void set_reduced(uint32_t step);
  void set_taken(uint32_t step);
  template <class Fill, class Use>
  void run_steps(size_t count, const Fill& fill, const Use& use);
  void all_reduce_at_once(Bytes data, const Reduction& reduction);
  void all_reduce_in_steps(Bytes data, const Reduction& reduction);
  bool all_reduce_in_place(Bytes data, const Reduction& reduction);
  uint64_t place_in_arena(Bytes data);
  Bytes share(int rank, Bytes bytes) const;
  size_t piece_bytes() const;
  void collect(Bytes input, std::span<const Bytes> outputs, size_t most);
  void fill_pieces(std::span<const Bytes> inputs, size_t number, std::byte* slot) const;
  void exchange(size_t count, std::span<const Bytes> inputs, std::span<const Bytes> outputs);

  ShmSegment& segment_;
  std::chrono::milliseconds timeout_;
  Clock::time_point deadline_;
  uint32_t step_ = 0;                     // of the next one
  uint32_t all_taken_ = 0;                // every rank has taken the steps below
  std::vector<const std::byte*> inputs_;  // of a reduction, by rank
};

}  // namespace rtrain
