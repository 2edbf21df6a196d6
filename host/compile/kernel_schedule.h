// host/compile/kernel_schedule.h: how the threads of a CUDA kernel divide the elements of a region.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/compile/region.h"

namespace rtrain::compile {

struct KernelSchedule {
  enum class Kind : uint8_t {
    kElements,   // a thread takes groups of neighbours
    kWarpRows,   // a warp takes rows
    kBlockRows,  // a block takes rows
  };
  Kind kind = Kind::kElements;
  int threads = 256;         // of a block
  int group = 1;             // neighbours that a thread takes at once: 1, 2, 4 or 8
  int64_t width = 1;         // the elements of a row
  int groups_per_row = 0;    // of a thread
  bool holds_rows = false;   // a thread keeps its elements of a row in registers
  bool is_wide = false;      // indices have 64 bits
  int64_t units = 0;         // groups of the region, or its rows
  std::vector<bool> joined;  // for each input, then each output: a group is one access

  int units_per_block() const;  // at a time
  // Blocks for a device with that many multiprocessors. Those of a region with sums of columns are
  // few: each has sums of its own.
  int64_t num_blocks(int multiprocessors, bool has_column_sums) const;
};

// `alignments`: of each input, then each output: a number of elements of which its address is a
// multiple.
// REQUIRES: region is lowered, its dimensions are joined, it has elements.
KernelSchedule choose_schedule(const Region& region, std::span<const int64_t> alignments);

}  // namespace rtrain::compile
