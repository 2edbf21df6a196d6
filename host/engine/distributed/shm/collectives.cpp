#include "host/engine/distributed/shm/collectives.h"

#include <algorithm>
#include <cstring>

namespace rtrain::engine {
namespace {

constexpr size_t kLine = 64;                  // bytes of a cache line
constexpr size_t kAtOnce = size_t{64} << 10;  // of all ranks; below, each rank reduces everything
constexpr size_t kInPlace = size_t{64} << 10;
constexpr size_t kBlock = size_t{32} << 10;  // fits into the L1 cache
constexpr uint64_t kNowhere = UINT64_MAX;
constexpr size_t kAhead = 2;  // steps that a rank fills before it reads the first one

size_t steps_for(size_t bytes, size_t piece) { return (bytes + piece - 1) / piece; }

void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (to != from && bytes > 0) std::memcpy(to, from, bytes);
}

// Part `number` of `bytes`, divided into parts of `size` bytes. The last ones may be shorter or
// empty.
std::span<std::byte> part(std::span<std::byte> bytes, size_t number, size_t size) {
  const size_t begin = std::min(number * size, bytes.size());
  return bytes.subspan(begin, std::min(size, bytes.size() - begin));
}

size_t total_bytes(const ShmCollectives::Segments& segments) {
  size_t out = 0;
  for (const auto& each : segments) out += each.size();
  return out;
}

// Copies a range of the segments, which follow one another; what is beyond them is left out.
void copy_range(const ShmCollectives::Segments& segments, size_t begin, size_t size,
                std::byte* out) {
  size_t at = 0;  // of the segment
  for (size_t i = 0; i < segments.size() && at < begin + size; at += segments[i++].size()) {
    const size_t from = std::max(at, begin);
    const size_t to = std::min(at + segments[i].size(), begin + size);
    if (from < to) copy_bytes(out + (from - begin), segments[i].data() + (from - at), to - from);
  }
}

}  // namespace

// A slot is free once all ranks have taken its previous content.
void ShmCollectives::wait_for_slot(uint32_t step) {
  if (step - all_taken_ < ShmSegment::kSlots) return;
  const auto wanted = static_cast<uint32_t>(step + 1 - ShmSegment::kSlots);
  for (int rank = 0; rank < segment_.num_ranks(); ++rank) {
    segment_.wait(rank, segment_.taken(rank), wanted, deadline_);
  }
  all_taken_ = wanted;
}

void ShmCollectives::set_filled(uint32_t step) {
  ShmSegment::advance(segment_.filled(segment_.rank()), step + 1);
}

void ShmCollectives::set_reduced(uint32_t step) {
  ShmSegment::advance(segment_.reduced(segment_.rank()), step + 1);
}

void ShmCollectives::set_taken(uint32_t step) {
  ShmSegment::advance(segment_.taken(segment_.rank()), step + 1);
}

void ShmCollectives::wait_filled(int rank, uint32_t step) {
  segment_.wait(rank, segment_.filled(rank), step + 1, deadline_);
}

void ShmCollectives::wait_reduced(int rank, uint32_t step) {
  segment_.wait(rank, segment_.reduced(rank), step + 1, deadline_);
}

void ShmCollectives::wait_all_filled(uint32_t step) {
  for (int rank = 0; rank < segment_.num_ranks(); ++rank) wait_filled(rank, step);
}

// fill(number, slot) writes this rank's data to its slot. A step later reduce(number, step) reads
// the others' slots and writes to its own, and after another one use(number, step) reads what they
// have written: so ranks rarely wait.
template <class Fill, class Reduce, class Use>
void ShmCollectives::run_steps(size_t count, const Fill& fill, const Reduce& reduce,
                               const Use& use) {
  static_assert(kAhead + 1 < ShmSegment::kSlots);
  begin();
  const uint32_t first = step_;
  step_ += static_cast<uint32_t>(count);
  const auto step_of = [&](size_t number) { return first + static_cast<uint32_t>(number); };
  for (size_t next = 0; next < count + kAhead; ++next) {
    if (next < count) {
      wait_for_slot(step_of(next));
      fill(next, segment_.slot(segment_.rank(), step_of(next)));
      set_filled(step_of(next));
    }
    if (next >= 1 && next - 1 < count) {
      reduce(next - 1, step_of(next - 1));
      set_reduced(step_of(next - 1));
    }
    if (next < kAhead) continue;
    use(next - kAhead, step_of(next - kAhead));
    set_taken(step_of(next - kAhead));
  }
}

// The same for collectives whose ranks read only what the others have filled.
template <class Fill, class Use>
void ShmCollectives::run_steps(size_t count, const Fill& fill, const Use& use) {
  run_steps(
      count, fill, [](size_t, uint32_t) {}, use);
}

// The part of the bytes that this rank reduces: whole cache lines.
std::span<std::byte> ShmCollectives::share(int rank, std::span<std::byte> bytes) const {
  const auto ranks = static_cast<size_t>(segment_.num_ranks());
  const size_t size = (bytes.size() / kLine / ranks + 1) * kLine;
  return part(bytes, static_cast<size_t>(rank), size);
}

void ShmCollectives::all_reduce(Bytes data, const Reduction& reduction) {
  const auto ranks = static_cast<size_t>(segment_.num_ranks());
  if (data.empty()) return;
  if (data.size() * ranks <= kAtOnce) return all_reduce_at_once(data, reduction);
  if (data.size() >= kInPlace && all_reduce_in_place(data, reduction)) return;
  all_reduce_in_steps(data, reduction);
}

// Reduces inputs_, of which one may be `sums`, and copies each block of the sums to the others
// while it is in the cache.
void ShmCollectives::reduce_and_copy(const Reduction& reduction, Bytes sums,
                                     std::span<const Bytes> copies) {
  for (size_t begin = 0; begin < sums.size(); begin += kBlock) {
    const Bytes block = part(sums, begin / kBlock, kBlock);
    engine::reduce(reduction, block.data(), inputs_.data(), segment_.num_ranks(),
                   block.size() / reduction.element_bytes());
    for (const Bytes& each : copies) copy_bytes(each.data() + begin, block.data(), block.size());
    for (const std::byte*& input : inputs_) input += block.size();
  }
}

void ShmCollectives::all_reduce_at_once(Bytes data, const Reduction& reduction) {
  run_steps(
      1, [&](size_t, std::byte* slot) { copy_bytes(slot, data.data(), data.size()); },
      [&](size_t, uint32_t step) {
        wait_all_filled(step);
        std::vector<const std::byte*>& inputs = inputs_;
        for (int rank = 0; rank < segment_.num_ranks(); ++rank) {
          inputs[static_cast<size_t>(rank)] = segment_.slot(rank, step);
        }
        engine::reduce(reduction, data.data(), inputs.data(), segment_.num_ranks(),
                       data.size() / reduction.element_bytes());
      });
}

// In each step a rank writes, for every other rank, the part that rank reduces, and reads the sums
// of the others.
void ShmCollectives::all_reduce_in_steps(Bytes data, const Reduction& reduction) {
  const int mine = segment_.rank();
  const auto bytes_of = [&](size_t number) { return part(data, number, ShmSegment::kSlotBytes); };
  const auto slot_of = [&](int rank, size_t number, uint32_t step) {
    return Bytes(segment_.slot(rank, step), bytes_of(number).size());
  };
  const auto fill = [&](size_t number, std::byte* slot) {
    for (int rank = 0; rank < segment_.num_ranks(); ++rank) {
      const Bytes from = share(rank, bytes_of(number));
      const Bytes to = share(rank, {slot, bytes_of(number).size()});
      if (rank != mine) copy_bytes(to.data(), from.data(), from.size());
    }
  };
  const auto add_up = [&](size_t number, uint32_t step) {
    wait_all_filled(step);
    const Bytes own = share(mine, bytes_of(number));
    const Bytes sums = share(mine, slot_of(mine, number, step));
    for (int rank = 0; rank < segment_.num_ranks(); ++rank) {
      const Bytes from = rank == mine ? own : share(mine, slot_of(rank, number, step));
      inputs_[static_cast<size_t>(rank)] = from.data();
    }
    reduce_and_copy(reduction, own, {&sums, 1});
  };
  const auto take = [&](size_t number, uint32_t step) {
    for (int rank = 0; rank < segment_.num_ranks(); ++rank) {
      if (rank == mine) continue;
      wait_reduced(rank, step);
      const Bytes sums = share(rank, slot_of(rank, number, step));
      copy_bytes(share(rank, bytes_of(number)).data(), sums.data(), sums.size());
    }
  };
  run_steps(steps_for(data.size(), ShmSegment::kSlotBytes), fill, add_up, take);
}

// If the tensors of all ranks lie in their arenas, each rank reduces its part there and writes the
// sums to all of them. Returns false if one lies elsewhere.
bool ShmCollectives::all_reduce_in_place(Bytes data, const Reduction& reduction) {
  begin();
  const uint32_t step = step_++;
  const int mine = segment_.rank();
  wait_for_slot(step);
  segment_.place(mine, step) = place_in_arena(data);
  set_filled(step);
  wait_all_filled(step);
  std::vector<Bytes> all;
  for (int rank = 0; rank < segment_.num_ranks(); ++rank) {
    const uint64_t place = segment_.place(rank, step);
    if (place == kNowhere) break;
    all.push_back(share(mine, {segment_.in_arena(rank, place, data.size()), data.size()}));
  }
  const bool is_everywhere = all.size() == inputs_.size();
  if (is_everywhere) {
    for (size_t rank = 0; rank < all.size(); ++rank) inputs_[rank] = all[rank].data();
    reduce_and_copy(reduction, all[static_cast<size_t>(mine)], all);
  }
  set_reduced(step);
  for (int rank = 0; is_everywhere && rank < segment_.num_ranks(); ++rank) wait_reduced(rank, step);
  set_taken(step);
  return is_everywhere;
}

uint64_t ShmCollectives::place_in_arena(Bytes data) {
  const std::byte* const arena = segment_.arena(segment_.rank());
  if (data.data() < arena || data.data() >= arena + segment_.arena_bytes()) return kNowhere;
  return static_cast<uint64_t>(data.data() - arena);
}

void ShmCollectives::reduce(Bytes data, const Reduction& reduction, int root) {
  const bool is_root = segment_.rank() == root;
  const auto bytes_of = [&](size_t number) { return part(data, number, ShmSegment::kSlotBytes); };
  run_steps(
      steps_for(data.size(), ShmSegment::kSlotBytes),
      [&](size_t number, std::byte* slot) {
        const Bytes from = bytes_of(number);
        if (!is_root) copy_bytes(slot, from.data(), from.size());
      },
      [&](size_t number, uint32_t step) {
        if (!is_root) return;
        wait_all_filled(step);
        const Bytes own = bytes_of(number);
        for (int rank = 0; rank < segment_.num_ranks(); ++rank) {
          const std::byte* from = rank == root ? own.data() : segment_.slot(rank, step);
          inputs_[static_cast<size_t>(rank)] = from;
        }
        engine::reduce(reduction, own.data(), inputs_.data(), segment_.num_ranks(),
                       own.size() / reduction.element_bytes());
      });
}

void ShmCollectives::broadcast(Bytes data, int root) {
  const bool is_root = segment_.rank() == root;
  run_steps(
      steps_for(data.size(), ShmSegment::kSlotBytes),
      [&](size_t number, std::byte* slot) {
        const Bytes from = part(data, number, ShmSegment::kSlotBytes);
        if (is_root) copy_bytes(slot, from.data(), from.size());
      },
      [&](size_t number, uint32_t step) {
        if (is_root) return;
        wait_filled(root, step);
        const Bytes to = part(data, number, ShmSegment::kSlotBytes);
        copy_bytes(to.data(), segment_.slot(root, step), to.size());
      });
}

void ShmCollectives::all_gather(Bytes input, std::span<const Bytes> outputs) {
  size_t most = 0;
  for (const Bytes& each : outputs) most = std::max(most, each.size());
  collect(input, outputs, most);
}

void ShmCollectives::gather(Bytes input, std::span<const Bytes> outputs, int root) {
  collect(input, segment_.rank() == root ? outputs : std::span<const Bytes>(), input.size());
}

// Every rank publishes its input, of at most `most` bytes; ranks with outputs copy them.
void ShmCollectives::collect(Bytes input, std::span<const Bytes> outputs, size_t most) {
  const auto mine = static_cast<size_t>(segment_.rank());
  if (!outputs.empty()) copy_bytes(outputs[mine].data(), input.data(), input.size());
  run_steps(
      steps_for(most, ShmSegment::kSlotBytes),
      [&](size_t number, std::byte* slot) {
        const Bytes from = part(input, number, ShmSegment::kSlotBytes);
        copy_bytes(slot, from.data(), from.size());
      },
      [&](size_t number, uint32_t step) {
        for (size_t rank = 0; rank < outputs.size(); ++rank) {
          if (rank == mine) continue;
          wait_filled(static_cast<int>(rank), step);
          const Bytes to = part(outputs[rank], number, ShmSegment::kSlotBytes);
          copy_bytes(to.data(), segment_.slot(static_cast<int>(rank), step), to.size());
        }
      });
}

// The bytes of a slot for each rank.
size_t ShmCollectives::piece_bytes() const {
  return ShmSegment::kSlotBytes / static_cast<size_t>(segment_.num_ranks()) / kLine * kLine;
}

// Copies a piece of each input to the part of the slot for the rank that receives it.
void ShmCollectives::fill_pieces(std::span<const Bytes> inputs, size_t number,
                                 std::byte* slot) const {
  const size_t piece = piece_bytes();
  for (size_t rank = 0; rank < inputs.size(); ++rank) {
    const Bytes from = part(inputs[rank], number, piece);
    if (rank != static_cast<size_t>(segment_.rank())) {
      copy_bytes(slot + rank * piece, from.data(), from.size());
    }
  }
}

// Exchanges inputs with the other ranks. An empty output means that its rank sends nothing.
void ShmCollectives::exchange(size_t count, std::span<const Bytes> inputs,
                              std::span<const Bytes> outputs) {
  const auto mine = static_cast<size_t>(segment_.rank());
  const size_t piece = piece_bytes();
  run_steps(
      count, [&](size_t number, std::byte* slot) { fill_pieces(inputs, number, slot); },
      [&](size_t number, uint32_t step) {
        for (size_t rank = 0; rank < outputs.size(); ++rank) {
          if (rank == mine || outputs[rank].empty()) continue;
          wait_filled(static_cast<int>(rank), step);
          const Bytes to = part(outputs[rank], number, piece);
          const std::byte* slot = segment_.slot(static_cast<int>(rank), step) + mine * piece;
          copy_bytes(to.data(), slot, to.size());
        }
      });
}

void ShmCollectives::scatter(std::span<const Bytes> inputs, Bytes output, int root) {
  const bool is_root = segment_.rank() == root;
  const auto from = static_cast<size_t>(root);
  std::vector<Bytes> outputs(static_cast<size_t>(segment_.num_ranks()));
  outputs[from] = output;
  if (is_root) copy_bytes(output.data(), inputs[from].data(), inputs[from].size());
  exchange(steps_for(output.size(), piece_bytes()), is_root ? inputs : std::span<const Bytes>(),
           outputs);
}

void ShmCollectives::all_to_all(std::span<const Bytes> inputs, std::span<const Bytes> outputs) {
  const auto mine = static_cast<size_t>(segment_.rank());
  copy_bytes(outputs[mine].data(), inputs[mine].data(), inputs[mine].size());
  int64_t count = 0;
  for (const Bytes& each : inputs) {
    count = std::max(count, static_cast<int64_t>(steps_for(each.size(), piece_bytes())));
  }
  // Two other ranks may exchange more than this rank does, so all ranks agree on the number of
  // steps.
  all_reduce(std::as_writable_bytes(std::span(&count, 1)),
             {.op = c10d::ReduceOp::MAX, .dtype = c10::kLong});
  exchange(static_cast<size_t>(count), inputs, outputs);
}

// Adds up a range of the outputs. The other ranks' inputs for it lie in their slots, this rank's
// own in place.
void ShmCollectives::add_segments(const Segments& own, const Segments& outputs, size_t begin,
                                  size_t size, uint32_t step, const Reduction& reduction) {
  const auto mine = static_cast<size_t>(segment_.rank());
  const size_t piece = piece_bytes();
  size_t at = 0;  // of the segment
  for (size_t i = 0; i < outputs.size() && at < begin + size; at += outputs[i++].size()) {
    const size_t from = std::max(at, begin);
    const size_t to = std::min(at + outputs[i].size(), begin + size);
    if (from >= to) continue;
    for (size_t rank = 0; rank < inputs_.size(); ++rank) {
      const std::byte* slot = segment_.slot(static_cast<int>(rank), step) + mine * piece;
      inputs_[rank] = rank == mine ? own[i].data() + (from - at) : slot + (from - begin);
    }
    engine::reduce(reduction, outputs[i].data() + (from - at), inputs_.data(), segment_.num_ranks(),
                   (to - from) / reduction.element_bytes());
  }
}

void ShmCollectives::reduce_scatter(std::span<const Segments> inputs, const Segments& outputs,
                                    const Reduction& reduction) {
  const auto mine = static_cast<size_t>(segment_.rank());
  const size_t piece = piece_bytes();
  size_t most = 0;
  for (const Segments& each : inputs) most = std::max(most, total_bytes(each));
  run_steps(
      steps_for(most, piece),
      [&](size_t number, std::byte* slot) {
        for (size_t rank = 0; rank < inputs.size(); ++rank) {
          if (rank != mine) copy_range(inputs[rank], number * piece, piece, slot + rank * piece);
        }
      },
      [&](size_t number, uint32_t step) {
        wait_all_filled(step);
        add_segments(inputs[mine], outputs, number * piece, piece, step, reduction);
      });
}

void ShmCollectives::barrier() {
  run_steps(
      1, [](size_t, std::byte*) {}, [&](size_t, uint32_t step) { wait_all_filled(step); });
}

}  // namespace rtrain::engine
