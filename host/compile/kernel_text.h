// host/compile/kernel_text.h: a Kernel: a region as the text of one CUDA kernel.
//
// The text is CUDA C++ that needs no header. It is the same for equal regions. No product and sum
// of different operators become one rounding; those of one operator do as in ATen's kernels.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/compile/kernel_schedule.h"
#include "host/compile/region.h"

namespace rtrain::compile {

// Where random numbers begin: a parameter of a kernel, and the struct Draw of its text.
struct KernelDraw {
  // Of the generator. Where the addresses are not null the seed is at `seed_at`, and the offset is
  // `offset` more than that at `offset_at`: a CUDA graph draws others in each replay.
  uint64_t seed = 0;
  uint64_t offset = 0;
  const int64_t* seed_at = nullptr;
  const int64_t* offset_at = nullptr;
  uint64_t threads = 1;  // of ATen's kernel
};

// The threads of ATen's kernel that draws `count` numbers on a device, and by how much it moves the
// generator's offset.
uint64_t draw_threads(int64_t count, int multiprocessors, int threads_per_multiprocessor);
uint64_t draw_increment(int64_t count, uint64_t threads);

struct Kernel {
  // The function `name` takes the addresses of the inputs and of the outputs, but for sums of
  // columns, and a KernelDraw for each draw. If there are such sums it then takes the address of
  // num_partial() numbers, and the function `columns_name` adds these up: it takes that address,
  // the addresses of the sums, and the number of units (unsigned int).
  std::string name;
  std::string columns_name;
  std::string text;
  KernelSchedule schedule;
  size_t num_draws = 0;
  std::vector<int> outputs;      // but for sums of columns
  std::vector<int> column_sums;  // the other outputs
  // Each unit (a warp or a block) has a row of partial sums for each sum.
  int64_t num_units(int64_t num_blocks) const;
  int64_t num_partial(int64_t num_blocks) const;
  // Threads and blocks of the second function.
  static constexpr int kColumnThreads = 256;
  int64_t num_column_blocks() const;
};

// `alignments`: see choose_schedule(). `comments`: what the region computes, a line for each.
// REQUIRES: region.valid(), it has elements.
Kernel make_kernel(const Region& region, std::span<const int64_t> alignments,
                   std::span<const std::string> comments = {});

// What stands before the kernels of a text: functions that they call.
std::string_view kernel_prelude();

// The CUDA expression of an operation that works element by element, for operands that are
// expressions.
std::string kernel_formula(Operation operation, std::span<const std::string> operands);

}  // namespace rtrain::compile
