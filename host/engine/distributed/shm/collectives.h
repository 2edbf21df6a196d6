// host/engine/distributed/shm/collectives.h: one rank's part in collectives over shared memory.
//
// Data pass through slots in steps. In a step every rank fills its slot, waits for the other slots,
// and reads its part of them. A slot is filled again kSlots steps later, once all ranks have read
// it. All ranks must call the same collectives in the same order with the same sizes. Sums are
// computed along a fixed tree: the same bits on every rank and in every run.
//
// One thread at a time. Throws like ShmSegment::wait; after an error no function may be called.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/engine/distributed/shm/reduction.h"
#include "host/engine/distributed/shm/segment.h"

namespace rtrain::engine {

class ShmCollectives {
 public:
  ShmCollectives(ShmSegment& segment, std::chrono::milliseconds timeout)
      : segment_(segment), timeout_(timeout), inputs_(static_cast<size_t>(segment.num_ranks())) {}

  using Bytes = std::span<std::byte>;
  using Segments = std::vector<Bytes>;

  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  // In place. `data` has elements of the reduction's dtype.
  void all_reduce(Bytes data, const Reduction& reduction);
  // In place, on the root.
  void reduce(Bytes data, const Reduction& reduction, int root);
  // In place.
  void broadcast(Bytes data, int root);
  // `outputs`: by rank, each with that rank's size.
  void all_gather(Bytes input, std::span<const Bytes> outputs);
  // The same, but only the root has `outputs`; others pass none. All inputs have one size.
  void gather(Bytes input, std::span<const Bytes> outputs, int root);
  // `inputs`: by rank, only on the root, each with the output's size.
  void scatter(std::span<const Bytes> inputs, Bytes output, int root);
  // Of several tensors, one after the other. `outputs`: this rank's parts of them. `inputs`: for
  // each rank, what goes into that rank's outputs.
  void reduce_scatter(std::span<const Segments> inputs, const Segments& outputs,
                      const Reduction& reduction);
  // Sends inputs[r] to rank r and receives outputs[r]. Two ranks must agree on the sizes.
  void all_to_all(std::span<const Bytes> inputs, std::span<const Bytes> outputs);
  void barrier();

 private:
  using Clock = std::chrono::steady_clock;

  void begin() { deadline_ = Clock::now() + timeout_.load(); }
  void wait_for_slot(uint32_t step);
  void wait_filled(int rank, uint32_t step);
  void wait_all_filled(uint32_t step);
  void wait_reduced(int rank, uint32_t step);
  void set_filled(uint32_t step);
  void set_reduced(uint32_t step);
  void set_taken(uint32_t step);
  template <class Fill, class Reduce, class Use>
  void run_steps(size_t count, const Fill& fill, const Reduce& reduce, const Use& use);
  template <class Fill, class Use>
  void run_steps(size_t count, const Fill& fill, const Use& use);
  void all_reduce_at_once(Bytes data, const Reduction& reduction);
  void all_reduce_in_steps(Bytes data, const Reduction& reduction);
  bool all_reduce_in_place(Bytes data, const Reduction& reduction);
  void reduce_and_copy(const Reduction& reduction, Bytes sums, std::span<const Bytes> copies);
  uint64_t place_in_arena(Bytes data);
  Bytes share(int rank, Bytes bytes) const;
  size_t piece_bytes() const;
  void collect(Bytes input, std::span<const Bytes> outputs, size_t most);
  void fill_pieces(std::span<const Bytes> inputs, size_t number, std::byte* slot) const;
  void add_segments(const Segments& own, const Segments& outputs, size_t begin, size_t size,
                    uint32_t step, const Reduction& reduction);
  void exchange(size_t count, std::span<const Bytes> inputs, std::span<const Bytes> outputs);

  ShmSegment& segment_;
  std::atomic<std::chrono::milliseconds> timeout_;  // set while the queue's thread may read it
  Clock::time_point deadline_;
  uint32_t step_ = 0;                     // the next step's number
  uint32_t all_taken_ = 0;                // all ranks have taken the steps below this one
  std::vector<const std::byte*> inputs_;  // inputs of a reduction, by rank
};

}  // namespace rtrain::engine
